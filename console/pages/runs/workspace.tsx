/** The runs of one workspace. */
import { useQuery } from "@tanstack/react-query";
import { useAddress } from "../../ui/address.ts";
import { Empty } from "../../components/states.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { liveMs, isFiltered, noRunsTitle, RunFilters } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";
import { runsOfWorkspace } from "../../api/detail-queries.ts";

export default function WorkspaceRunsPage() {
  return <WorkspaceFrame>{(details) => <List details={details} />}</WorkspaceFrame>;
}

const localNote =
  "The execution mode of this workspace is local: Terraform runs on your own machines, and only the state is stored here. You can change this in the workspace settings.";
const startNote = "Start a run, or use terraform plan or terraform apply on the command line.";

function List({ details: { organization, workspace } }: { readonly details: WorkspaceDetails }) {
  const { search, set } = useAddress();
  const query = useQuery({
    ...runsOfWorkspace(workspace.id, search),
    refetchInterval: liveMs,
  });
  const isLocal = workspace.attributes["execution-mode"] === "local";
  return (
    <>
      <RunFilters search={search} set={set} />
      <PagedRuns
        organization={organization}
        workspace={workspace.attributes.name}
        query={query}
        empty={
          <Empty title={noRunsTitle(search)}>{isFiltered(search) ? undefined : isLocal ? localNote : startNote}</Empty>
        }
      />
    </>
  );
}
