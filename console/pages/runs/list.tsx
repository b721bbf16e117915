/** Runs as a table, of a workspace or an organization. */
import { Group, Select, Text } from "@mantine/core";
import { includedIn, type Resource } from "../../api/client.ts";
import { paths, type SearchParameters } from "../../paths.ts";
import type { Address } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { Dimmed, When } from "../../ui/text.tsx";
import { WorkspaceLink } from "../../components/list.tsx";
import { Counts } from "./counts.tsx";
import classes from "./list.module.css";
import { RunStatus, runStatusChoices } from "./status.tsx";
import { runOperations } from "../../api/list-queries.ts";

export const liveMs = 10_000;

export interface RunsProps {
  readonly organization: string;
  readonly workspace?: string;
  readonly runs: readonly Resource<"runs">[];
  readonly included: readonly any[] | undefined;
}

export function Runs({ organization, workspace, runs, included }: RunsProps) {
  const nameOf = (run: Resource<"runs">) =>
    workspace ?? includedIn({ included }, "workspaces", run.relationships.workspace?.data?.id)?.attributes.name ?? "";
  const columns: (TableColumn<Resource<"runs">> | false)[] = [
    { title: "Status", width: 130, cell: (run) => <RunStatus status={run.attributes.status} /> },
    workspace === undefined && {
      title: "Workspace",
      isExtra: true,
      cell: (run) => <InWorkspace organization={organization} name={nameOf(run)} />,
    },
    {
      title: "Run",
      width: "40%",
      cell: (run) => (
        <>
          <Link to={paths.run(organization, nameOf(run), run.id)} className={classes["message"] ?? ""}>
            <Text span inherit lineClamp={1}>
              {run.attributes.message || run.id}
            </Text>
          </Link>
          {workspace === undefined && (
            <Text span fz="sm" hiddenFrom="sm">
              <InWorkspace organization={organization} name={nameOf(run)} />
            </Text>
          )}
        </>
      ),
    },
    { title: "Type", isExtra: true, width: 140, cell: (run) => <Dimmed nowrap>{kindOf(run)}</Dimmed> },
    {
      title: "Plan",
      isExtra: true,
      width: 120,
      cell: (run) => <Counts phase={includedIn({ included }, "plans", run.relationships.plan?.data?.id)} />,
    },
    { title: "By", isExtra: true, width: 120, cell: (run) => <Dimmed nowrap>{makerOf(run, included)}</Dimmed> },
    { title: "Started", width: 110, cell: (run) => <When time={run.attributes["created-at"]} /> },
  ];
  return (
    <Table label="Runs" rows={runs} keyOf={({ id }) => id} columns={columns.filter((column) => column !== false)} />
  );
}

const InWorkspace = (props: Parameters<typeof WorkspaceLink>[0]) => (
  <span className={classes["workspace"]} title={props.name}>
    <WorkspaceLink {...props} />
  </span>
);

export function kindOf({ attributes }: Resource<"runs">): string {
  if (attributes["is-destroy"]) return attributes["plan-only"] ? "Destroy plan" : "Destroy";
  if (attributes["refresh-only"]) return "Refresh only";
  if (attributes["plan-only"]) return "Plan only";
  if (attributes["save-plan"]) return "Saved plan";
  return "Plan and apply";
}

const reasons: Record<string, string> = {
  vcs: "VCS push",
  run_trigger: "run trigger",
  auto_destroy: "auto-destroy",
  assessment: "health assessment",
};

export function makerOf(run: Resource<"runs">, included: readonly any[] | undefined): string {
  const maker = run.relationships["created-by"]?.data;
  const known = maker && (includedIn({ included }, maker.type, maker.id) as any);
  return known?.attributes.username ?? known?.attributes.name ?? reasons[run.attributes["trigger-reason"]] ?? "–";
}

const operationLabels: Readonly<Record<(typeof runOperations)[number], string>> = {
  plan_and_apply: "Plan and apply",
  plan_only: "Plan only",
  save_plan: "Saved plan",
  refresh_only: "Refresh only",
  destroy: "Destroy",
  empty_apply: "Empty apply",
};

export function RunFilters({ search, set }: Pick<Address, "search" | "set">) {
  const change = (changes: SearchParameters) => set({ ...changes, page: undefined });
  return (
    <Group gap="xs" mb="sm">
      <SearchInput
        placeholder="Search by message, user or commit…"
        aria-label="Search runs"
        data-search
        value={search["q"]}
        onChange={(q) => change({ q })}
        w={{ base: "100%", xs: 260 }}
      />
      <StatusFilter value={search["status"]} onChange={(status) => change({ status })} />
      <Select
        aria-label="Run type"
        placeholder="Run type"
        clearable
        w={170}
        data={runOperations.map((value) => ({ value, label: operationLabels[value] }))}
        value={search["does"] ?? null}
        onChange={(does) => change({ does: does ?? undefined })}
        clearButtonProps={{ "aria-label": "Clear run type" }}
      />
    </Group>
  );
}

interface StatusFilterProps {
  readonly value: string | undefined;
  readonly onChange: (status: string | undefined) => void;
}

export const StatusFilter = ({ value, onChange }: StatusFilterProps) => (
  <Select
    aria-label="Status"
    placeholder="Status"
    clearable
    w={170}
    data={runStatusChoices}
    value={value ?? null}
    onChange={(status) => onChange(status ?? undefined)}
    clearButtonProps={{ "aria-label": "Clear status" }}
  />
);

export function noRunsTitle(search: SearchParameters): string {
  if (search["q"]) return `No runs match "${search["q"]}".`;
  return isFiltered(search) ? "No runs match these filters" : "No runs yet";
}

export const isFiltered = (search: SearchParameters): boolean => ["q", "status", "does"].some((name) => search[name]);
