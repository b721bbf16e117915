/** Events of all repositories of an organization, of the last ten days. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Page } from "../../ui/page.tsx";
import { Asked } from "../../ui/states.tsx";
import { Events, outcomeFilter } from "./events.tsx";

const liveMs = 10_000;

export default function RepositoryEventsPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search } = useAddress();
  const query = useQuery({
    ...askingOn("GET /organizations/{organization_name}/vcs-events", {
      path: { organization_name: organization },
      query: { ...outcomeFilter(search), include: "workspace" },
    }),
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
      <Asked query={query}>{(answer) => <Events organization={organization} answer={answer} />}</Asked>
    </Page>
  );
}
