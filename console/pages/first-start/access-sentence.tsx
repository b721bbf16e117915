/** Shows which teams will have access to a new workspace: those with access to its project. */
import { Anchor, Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { pagedQuery } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { prefix } from "../../ui/link.tsx";
import { counted, listed } from "../../ui/text.tsx";

type Explanation = Resource<"access-explanations">;

const namedMax = 2;

function teamOf({ attributes }: Explanation): string {
  const sources = Object.values(attributes.permissions).flatMap((each) => each["given-by"]);
  const level = sources.find(({ kind }) => kind === "team-project")?.level;
  return level ? `${attributes["subject-name"]} (${level})` : attributes["subject-name"];
}

const isOwners = ({ attributes }: Explanation) => attributes["subject-name"] === "owners";

function teamsText(teams: readonly Explanation[], total: number): string {
  const ordered = [...teams.filter(isOwners), ...teams.filter((team) => !isOwners(team))].map(teamOf);
  const shown = total <= namedMax + 1 ? ordered : ordered.slice(0, namedMax);
  const rest = total - shown.length;
  if (rest > 0) return `${shown.join(", ")} and ${counted(rest, "more team")}`;
  return listed(shown);
}

interface AccessSentenceProps {
  readonly organization: string;
  readonly project: Resource<"projects">;
}

export function AccessSentence({ organization, project }: AccessSentenceProps) {
  const query = useQuery(
    pagedQuery("GET /projects/{project_id}/team-access", {
      path: { project_id: project.id },
      query: { "page[size]": 20 },
    }),
  );
  // In a new tab: the form may be half filled.
  const link = (
    <Anchor inherit href={`${prefix}${paths.projectAccess(organization, project.id)}`} target="_blank">
      See who has access
    </Anchor>
  );
  if (query.isError) return <>Teams with access to {project.attributes.name} will have access.</>;
  if (!query.data) return <Skeleton component="span" display="block" height={14} width="60%" />;
  const { data, meta } = query.data;
  const total = meta?.pagination?.["total-count"] ?? data.length;
  if (total === 0) return <>No team will have access. {link}</>;
  return (
    <span aria-live="polite">
      {teamsText(data, total)} will have access. {link}
    </span>
  );
}
