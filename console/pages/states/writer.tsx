/** Who wrote a state: a run, a person, or a team. */
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { asking } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { Link } from "../../ui/link.tsx";
import type { Place } from "../workspace/place.ts";

interface WriterProps {
  readonly place: Place;
  readonly state: Resource<"state-versions">;
}

export function Writer({ place: { organization, workspace }, state }: WriterProps) {
  const run = state.relationships.run?.data;
  const maker = state.relationships["created-by"]?.data;
  const person = useQuery({
    ...asking("GET /users/{user_id}", { path: { user_id: maker?.id } }),
    enabled: !run && maker?.type === "users",
    staleTime: 60_000,
  });
  const team = useQuery({
    ...asking("GET /teams/{team_id}", { path: { team_id: maker?.id } }),
    enabled: !run && maker?.type === "teams",
    staleTime: 60_000,
  });
  if (run)
    return (
      <Link to={paths.run(organization, workspace.attributes.name, run.id)} className="mono">
        {run.id}
      </Link>
    );
  return <>{person.data?.data.attributes.username ?? team.data?.data.attributes.name ?? maker?.id ?? "–"}</>;
}
