/** The runs of one workspace. */
import { useQuery } from "@tanstack/react-query";
import { askingOn } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { Empty } from "../../ui/states.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { Place } from "../workspace/place.ts";
import { filtersOf, isFiltered, RunFilters, runIncludes } from "./list.tsx";
import { PagedRuns } from "./paged.tsx";

export default function WorkspaceRunsPage() {
  return <WorkspaceFrame>{(place) => <List place={place} />}</WorkspaceFrame>;
}

function List({ place: { organization, workspace } }: { readonly place: Place }) {
  const { search, set } = useAddress();
  const query = useQuery({
    ...askingOn("GET /workspaces/{workspace_id}/runs", {
      path: { workspace_id: workspace.id },
      query: { ...filtersOf(search), include: runIncludes },
    }),
    refetchInterval: 5_000,
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
          <Empty title={isFiltered(search) ? "No run is like that" : "No runs yet"}>
            {isLocal
              ? "Its execution mode is local: plans and applies happen where people run them, and only the state is kept here. Change that in the settings."
              : "Start one above, or by plan and apply on the command line."}
          </Empty>
        }
      />
    </>
  );
}
