/** The runs of an organization, as far as one may see their workspaces. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Empty } from "../../ui/states.tsx";
import { liveMs, RunsFrame } from "./frame.tsx";
import { filtersOf, isFiltered, RunFilters, runIncludes } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";

export default function OrganizationRunsPage() {
  const { organization } = useParams({ strict: false }) as { organization: string };
  const { search, set } = useAddress();
  const query = useQuery({
    ...askingOn("GET /organizations/{organization_name}/runs", {
      path: { organization_name: organization },
      query: { ...filtersOf(search), include: `${runIncludes},workspace` },
    }),
    refetchInterval: liveMs,
  });
  return (
    <RunsFrame organization={organization}>
      <RunFilters search={search} set={set} />
      <PagedRuns
        organization={organization}
        query={query}
        empty={
          <Empty
            title={isFiltered(search) ? "No run is like that" : "No runs yet"}
            action={<LinkButton to={paths.workspaces(organization)}>Workspaces</LinkButton>}
          >
            A run plans and applies a workspace's configuration. Start one in a workspace, or by <code>plan</code> and{" "}
            <code>apply</code> on the command line.
          </Empty>
        }
      />
    </RunsFrame>
  );
}
