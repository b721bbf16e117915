/** The repository events of an organization, of the last ten days. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Page } from "../../ui/page.tsx";
import { QueryContent } from "../../components/states.tsx";
import { Events } from "./events.tsx";
import { repositoryEvents } from "../../api/list-queries.ts";

const liveMs = 10_000;

export default function RepositoryEventsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search } = useAddress();
  const query = useQuery({
    ...repositoryEvents(organization, search),
    refetchInterval: liveMs,
  });
  return (
    <Page
      title="Repository events"
      crumbs={[
        { label: organization, to: paths.organization(organization) },
        { label: "Version control", to: paths.connections(organization) },
      ]}
      about="Pushes, tags and pull requests of the last 10 days, and why they did or did not start a run."
    >
      <QueryContent query={query}>
        {(response) => <Events organization={organization} response={response} />}
      </QueryContent>
    </Page>
  );
}
