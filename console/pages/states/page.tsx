/** The state versions of a workspace, newest first. */
import { Badge } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { QueryContent, Empty } from "../../components/states.tsx";
import { Pager, Table } from "../../ui/table.tsx";
import { bytes, Dimmed, figure, When, Value } from "../../ui/text.tsx";
import { WorkspaceFrame } from "../workspace/frame.tsx";
import type { WorkspaceDetails } from "../workspace/details.ts";
import { stateVersions } from "../../api/detail-queries.ts";
import { apiQuery } from "../../api/queries.ts";

export default function StatesPage() {
  return <WorkspaceFrame>{(details) => <States details={details} />}</WorkspaceFrame>;
}

function States({ details }: { readonly details: WorkspaceDetails }) {
  const { organization, workspace } = details;
  const { search, set } = useAddress();
  const query = useQuery(stateVersions(workspace.id, search));
  return (
    <QueryContent query={query}>
      {({ data, meta }) =>
        data.length === 0 ? (
          <Empty title="No state yet">
            The first apply creates one. So does <code>terraform state push</code> while the workspace is locked.
          </Empty>
        ) : (
          <>
            <Table
              label="State versions"
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Serial",
                  width: 150,
                  cell: (state) => (
                    <>
                      <Link to={paths.state(organization, workspace.attributes.name, state.id)}>
                        Serial {state.attributes.serial}
                      </Link>{" "}
                      <StateBadge state={state} workspace={workspace} />
                    </>
                  ),
                },
                { title: "Created", width: 110, cell: (state) => <When time={state.attributes["created-at"]} /> },
                { title: "Created by", cell: (state) => <Writer details={details} state={state} /> },
                {
                  title: "Resources",
                  isFigure: true,
                  isExtra: true,
                  width: 90,
                  cell: (state) => figure(state.attributes["billable-rum-count"]),
                },
                {
                  title: "Size",
                  isFigure: true,
                  isExtra: true,
                  width: 90,
                  cell: (state) => bytes(state.attributes.size),
                },
                {
                  title: "Engine",
                  isExtra: true,
                  width: 90,
                  cell: (state) => <Dimmed>{state.attributes["engine-version"] ?? "–"}</Dimmed>,
                },
              ]}
            />
            <Pager pagination={meta?.pagination} one="state version" onPage={(page) => set({ page: String(page) })} />
          </>
        )
      }
    </QueryContent>
  );
}

interface StateBadgeProps {
  readonly state: Resource<"state-versions">;
  readonly workspace: Resource<"workspaces">;
}

export function StateBadge({ state, workspace }: StateBadgeProps) {
  const { status, intermediate } = state.attributes;
  if (state.id === workspace.relationships["current-state-version"]?.data?.id) return <Badge tt="none">current</Badge>;
  if (intermediate)
    return (
      <Badge color="orange" tt="none" title="Becomes the current version when the workspace is unlocked">
        pending unlock
      </Badge>
    );
  if (status === "finalized") return null;
  return (
    <Badge color="gray" tt="none">
      {status.replaceAll("_", " ")}
    </Badge>
  );
}

interface WriterProps {
  readonly details: WorkspaceDetails;
  readonly state: Resource<"state-versions">;
}

export function Writer({ details: { organization, workspace }, state }: WriterProps) {
  const run = state.relationships.run?.data;
  const maker = state.relationships["created-by"]?.data;
  const person = useQuery({
    ...apiQuery("GET /users/{user_id}", { path: { user_id: maker?.id } }),
    enabled: !run && maker?.type === "users",
    staleTime: 60_000,
  });
  const team = useQuery({
    ...apiQuery("GET /teams/{team_id}", { path: { team_id: maker?.id } }),
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

export function Outputs({ outputs }: { readonly outputs: readonly Resource<"state-version-outputs">[] }) {
  return (
    <Table
      label="Outputs"
      rows={outputs}
      keyOf={({ id }) => id}
      columns={[
        { title: "Name", width: "30%", cell: (row) => <span className="mono">{row.attributes.name}</span> },
        {
          title: "Value",
          cell: ({ attributes }) =>
            attributes.sensitive ? (
              <Badge color="gray" tt="none">
                sensitive
              </Badge>
            ) : (
              <Value value={attributes.value} label={`Value of ${attributes.name}`} />
            ),
        },
        {
          title: "Type",
          width: 90,
          isExtra: true,
          cell: (row) => <Dimmed>{row.attributes.type}</Dimmed>,
        },
      ]}
    />
  );
}
