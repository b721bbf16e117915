/** Runs as a table, of a workspace or of all of an organization. */
import { Group, Select, Text } from "@mantine/core";
import { includedIn, type Resource } from "../../api/client.ts";
import { paths } from "../../paths.ts";
import type { Address, Search } from "../../ui/address.ts";
import { Link } from "../../ui/link.tsx";
import { SearchInput } from "../../ui/search-input.tsx";
import { Table, type Column } from "../../ui/table.tsx";
import { Dimmed, When } from "../../ui/text.tsx";
import { Counts } from "./counts.tsx";
import { RunStatus, runStatusChoices } from "./status.tsx";

export interface RunsProps {
  readonly organization: string;
  /** The workspace, where all are of one. */
  readonly workspace?: string;
  readonly runs: readonly Resource<"runs">[];
  readonly included: readonly any[] | undefined;
}

export const runIncludes = "created_by,plan";

export function Runs({ organization, workspace, runs, included }: RunsProps) {
  const nameOf = (run: Resource<"runs">) =>
    workspace ?? includedIn({ included }, "workspaces", run.relationships.workspace?.data?.id)?.attributes.name ?? "";
  const columns: (Column<Resource<"runs">> | false)[] = [
    { title: "Status", width: 130, cell: (run) => <RunStatus status={run.attributes.status} /> },
    workspace === undefined && {
      title: "Workspace",
      cell: (run) => (
        <Link to={paths.workspace(organization, nameOf(run))} c="inherit" className="mono">
          {nameOf(run)}
        </Link>
      ),
    },
    {
      title: "Run",
      width: "40%",
      cell: (run) => (
        <Link to={paths.run(organization, nameOf(run), run.id)}>
          <Text span inherit lineClamp={1}>
            {run.attributes.message || run.id}
          </Text>
        </Link>
      ),
    },
    { title: "Does", isExtra: true, width: 140, cell: (run) => <Dimmed nowrap>{kindOf(run)}</Dimmed> },
    {
      title: "Plan",
      isExtra: true,
      width: 120,
      cell: (run) => <Counts phase={includedIn({ included }, "plans", run.relationships.plan?.data?.id)} />,
    },
    { title: "By", isExtra: true, width: 120, cell: (run) => makerOf(run, included) },
    { title: "Started", width: 110, cell: (run) => <When time={run.attributes["created-at"]} /> },
  ];
  return (
    <Table label="Runs" rows={runs} keyOf={({ id }) => id} columns={columns.filter((column) => column !== false)} />
  );
}

/** What a run is for, in a word or two. */
export function kindOf({ attributes }: Resource<"runs">): string {
  if (attributes["is-destroy"]) return attributes["plan-only"] ? "plan to destroy" : "destroy";
  if (attributes["refresh-only"]) return "refresh";
  if (attributes["plan-only"]) return "plan only";
  if (attributes["save-plan"]) return "kept plan";
  return "plan and apply";
}

const reasons: Record<string, string> = {
  vcs: "a push",
  run_trigger: "another workspace",
  auto_destroy: "the schedule",
  assessment: "an assessment",
};

export function makerOf(run: Resource<"runs">, included: readonly any[] | undefined): string {
  const maker = run.relationships["created-by"]?.data;
  const known = maker && (includedIn({ included }, maker.type, maker.id) as any);
  return known?.attributes.username ?? known?.attributes.name ?? reasons[run.attributes["trigger-reason"]] ?? "–";
}

export const operations = [
  { value: "plan_and_apply", label: "plan and apply" },
  { value: "plan_only", label: "plan only" },
  { value: "save_plan", label: "kept plan" },
  { value: "refresh_only", label: "refresh" },
  { value: "destroy", label: "destroy" },
  { value: "empty_apply", label: "apply without changes" },
];

export function RunFilters({ search, set }: Pick<Address, "search" | "set">) {
  const change = (changes: Search) => set({ ...changes, page: undefined });
  return (
    <Group gap="xs" mb="sm">
      <SearchInput
        placeholder="Search messages, people, commits…"
        aria-label="Search runs"
        data-search
        value={search["q"]}
        onChange={(q) => change({ q })}
        w={{ base: "100%", xs: 260 }}
      />
      <StatusFilter value={search["status"]} onChange={(status) => change({ status })} />
      <Select
        aria-label="What it does"
        placeholder="What it does"
        clearable
        w={170}
        data={operations}
        value={search["does"] ?? null}
        onChange={(does) => change({ does: does ?? undefined })}
        clearButtonProps={{ "aria-label": "Anything that it does" }}
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
    clearButtonProps={{ "aria-label": "Any status" }}
  />
);

export const isFiltered = (search: Search): boolean => ["q", "status", "does"].some((name) => search[name]);

/** What the address says, as the API asks for it. Plans that can't be applied are left out unless they are asked for. */
export const filtersOf = (search: Search) => ({
  "search[basic]": search["q"],
  "filter[status]": search["status"],
  "filter[operation]": search["does"] ?? operations.map(({ value }) => value).join(","),
  "page[number]": search["page"],
  "page[size]": 30,
});
