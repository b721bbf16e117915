/** Repository events, with whether and why each started a run. */
import { Badge, Group, SegmentedControl, Text } from "@mantine/core";
import { includedIn, type OperationResponse, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { Empty } from "../../components/states.tsx";
import { Pager, Table, type TableColumn } from "../../ui/table.tsx";
import { When } from "../../ui/text.tsx";
import { WorkspaceLink } from "../../components/list.tsx";

export type RepositoryEvent = Resource<"vcs-events">;

const colours: Readonly<Record<string, string>> = { started: "teal", ignored: "gray", failed: "red" };
const words: Readonly<Record<string, string>> = { started: "run started", ignored: "no run", failed: "failed" };

export function Outcome({ outcome }: { readonly outcome: string | null }) {
  if (outcome === null) return <Badge color="blue">pending</Badge>;
  return <Badge color={colours[outcome] ?? "gray"}>{words[outcome] ?? outcome}</Badge>;
}

export function eventText({ attributes }: RepositoryEvent): string {
  const { kind, branch, tag, "pull-request-number": number } = attributes;
  if (kind === "push") return branch === null ? "push" : `push to ${branch}`;
  if (kind === "tag") return `tag ${tag ?? ""}`;
  if (kind === "pull-request") return `pull request ${number ?? ""}`;
  return kind;
}

const nameIn = (included: readonly any[] | undefined, { relationships }: RepositoryEvent): string | undefined =>
  includedIn({ included }, "workspaces", relationships.workspace?.data?.id)?.attributes.name;

interface EventsProps {
  readonly organization: string;
  readonly response: OperationResponse<"GET /workspaces/{workspace_id}/vcs-events">;
  readonly workspace?: string;
}

export function Events({ organization, response: { data, meta, included }, workspace }: EventsProps) {
  const { search, set } = useAddress();
  const columns: (TableColumn<RepositoryEvent> | false)[] = [
    { title: "Time", width: 110, cell: ({ attributes }) => <When time={attributes["created-at"]} /> },
    { title: "Outcome", width: 110, cell: ({ attributes }) => <Outcome outcome={attributes.outcome} /> },
    { title: "Event", isExtra: true, width: 190, cell: eventText },
    {
      title: "Details",
      cell: (event) => (
        <Text span inherit style={{ overflowWrap: "anywhere" }}>
          {event.attributes.detail}
        </Text>
      ),
    },
    workspace === undefined && {
      title: "Workspace",
      cell: (event) => {
        const name = nameIn(included, event);
        return name ? <WorkspaceLink organization={organization} name={name} /> : event.attributes.repository;
      },
    },
    {
      title: "Run",
      width: 1,
      isExtra: true,
      cell: (event) => {
        const run = event.relationships.run?.data?.id;
        const name = workspace ?? nameIn(included, event);
        return run && name && <Link to={paths.run(organization, name, run)}>Open</Link>;
      },
    },
  ];
  return (
    <>
      <Group mb="sm">
        <SegmentedControl
          size="xs"
          aria-label="Outcome"
          value={search["outcome"] ?? ""}
          onChange={(outcome) => set({ outcome, page: undefined })}
          data={[
            { value: "", label: "All" },
            { value: "started", label: "Run started" },
            { value: "ignored", label: "No run" },
            { value: "failed", label: "Failed" },
          ]}
        />
      </Group>
      {data.length === 0 ? (
        <Empty title={search["outcome"] ? "No events with this outcome" : "No events yet"}>
          Pushes, tags and pull requests appear here within seconds.
        </Empty>
      ) : (
        <>
          <Table
            label="Repository events"
            rows={data}
            keyOf={({ id }) => id}
            columns={columns.filter((column) => column !== false)}
          />
          <Pager pagination={meta?.pagination} one="event" onPage={(page) => set({ page: String(page) })} />
        </>
      )}
    </>
  );
}
