/** The runs of an organization, in the workspaces that the caller can see. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { askingOn } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Empty } from "../../ui/states.tsx";
import { liveMs, RunsFrame } from "./frame.tsx";
import { filtersOf, isFiltered, noRunsTitle, RunFilters, runIncludes } from "./list.tsx";
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
            title={noRunsTitle(search)}
            action={<LinkButton to={paths.workspaces(organization)}>Go to workspaces</LinkButton>}
          >
            {isFiltered(search) ? undefined : (
              <>
                A run plans and applies a workspace's configuration. Start one from a workspace, or with{" "}
                <code>terraform plan</code> or <code>terraform apply</code> on the command line.
              </>
            )}
          </Empty>
        }
      />
    </RunsFrame>
  );
}
