/** The runs of an organization, in the workspaces that the caller can see. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Empty } from "../../ui/states.tsx";
import { liveMs, RunsFrame } from "./frame.tsx";
import { isFiltered, noRunsTitle, RunFilters } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";
import { runs } from "../../api/list-queries.ts";

export default function OrganizationRunsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const query = useQuery({
    ...runs(organization, search),
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
