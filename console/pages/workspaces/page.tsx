/** The workspaces of an organization, with search, filters and sort in the address. */
import { Button, Group, Select, Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { useRows, useRights } from "../../api/queries.ts";
import { paths, type SearchParameters } from "../../paths.ts";
import { Picker } from "../../components/pickers.tsx";
import { ActionBar } from "../../ui/action-bar.tsx";
import { useAddress } from "../../ui/address.ts";
import { LinkButton } from "../../ui/link.tsx";
import { LongTable } from "../../ui/long-table.tsx";
import { Page } from "../../ui/page.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { Empty, LoadingRows, NoMatches, ErrorMessage } from "../../components/states.tsx";
import { counted } from "../../ui/text.tsx";
import {
  type Selection,
  SelectMatching,
  useOpenWithSelection,
  useSelection,
  useTickColumn,
} from "../move/selection.tsx";
import { runStatusChoices } from "../runs/status.tsx";
import { columnsOf } from "./columns.tsx";
import { workspaceFilters, workspaceOrder, workspaceRows } from "../../api/list-queries.ts";

export default function WorkspacesPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search, set } = useAddress();
  const sort = workspaceOrder(search);
  const rows = useRows(...workspaceRows(organization, search));
  const rights = useRights(organization);
  const selection = useSelection();
  const tick = useTickColumn(selection, rows.rowAt);
  const columns = useMemo(() => [tick, ...columnsOf(organization)], [tick, organization]);
  const isFiltered = Object.keys(workspaceFilters(search)).length > 0;
  return (
    <Page
      title="Workspaces"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      actions={
        rights?.["can-create-workspace"] && (
          <LinkButton to={paths.newWorkspace(organization, search["project"])}>New workspace</LinkButton>
        )
      }
    >
      <Filters organization={organization} search={search} set={set} count={rows.count} />
      {rows.error ? <ErrorMessage error={rows.error} /> : null}
      {rows.isLoading && <LoadingRows rows={16} height={34} />}
      {rows.count === 0 &&
        (isFiltered ? (
          <NoMatches
            many="workspaces"
            search={search["q"]}
            action={
              <Button
                variant="default"
                onClick={() => set(Object.fromEntries(Object.keys(search).map((name) => [name, undefined])))}
              >
                Clear filters
              </Button>
            }
          />
        ) : (
          <Empty
            title="No workspaces yet"
            action={<LinkButton to={paths.newWorkspace(organization)}>New workspace</LinkButton>}
          >
            A workspace stores the state and runs of one configuration. Create one, then add its <code>cloud</code>{" "}
            block to your configuration.
          </Empty>
        ))}
      {rows.count !== undefined && rows.count > 0 && (
        <LongTable
          label="Workspaces"
          columns={columns}
          count={rows.count}
          rowAt={rows.rowAt}
          onRange={rows.onRange}
          sort={sort}
          onSort={(sort) => set({ sort: sort === "name" ? undefined : sort })}
        />
      )}
      {selection.ids.length > 0 && <SelectionBar {...{ organization, selection }} count={rows.count} />}
    </Page>
  );
}

interface SelectionBarProps {
  readonly organization: string;
  readonly selection: Selection;
  readonly count: number | undefined;
}

function SelectionBar({ organization, selection, count }: SelectionBarProps) {
  const { search } = useAddress();
  const carry = useOpenWithSelection();
  const to = paths.move(organization, { q: search["q"], from: search["project"] });
  return (
    <ActionBar count={selection.ids.length} onClear={() => selection.set([])}>
      <Group gap="xs">
        <SelectMatching {...{ organization, selection, count }} query={workspaceFilters(search)} />
        <Button onClick={() => carry(to, selection.ids)}>Move {counted(selection.ids.length, "workspace")}…</Button>
      </Group>
    </ActionBar>
  );
}

interface WorkspaceFiltersProps {
  readonly organization: string;
  readonly search: SearchParameters;
  readonly set: (changes: SearchParameters) => void;
  readonly count: number | undefined;
}

const locks = [
  { value: "0m", label: "Locked" },
  { value: "1h", label: "Locked for over an hour" },
  { value: "1d", label: "Locked for over a day" },
];

function Filters({ organization, search, set, count }: WorkspaceFiltersProps) {
  return (
    <Group mb="sm" gap="xs">
      <SearchInput
        placeholder="Search workspaces…"
        aria-label="Search workspaces"
        data-search
        leftSection={<IconSearch size={14} />}
        value={search["q"]}
        onChange={(q) => set({ q })}
        w={{ base: "100%", xs: 240 }}
      />
      <Picker
        kind="projects"
        organization={organization}
        aria-label="Project"
        placeholder="Project"
        value={search["project"]}
        onChange={(project) => set({ project })}
        clearLabel="Any project"
        w={150}
      />
      <SearchInput
        placeholder="Tags"
        aria-label="Tags, separated by commas"
        value={search["tags"]}
        onChange={(tags) => set({ tags })}
        w={110}
      />
      <Choice label="Run" value={search["run"]} onChange={(run) => set({ run })} data={runStatusChoices} />
      <Choice label="Locked" value={search["locked"]} onChange={(locked) => set({ locked })} data={locks} />
      <Text c="dimmed" fz="sm" ml="auto" aria-live="polite">
        {count === undefined ? "" : counted(count, "workspace")}
      </Text>
    </Group>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
  readonly data: { readonly value: string; readonly label: string }[];
}

function Choice({ label, value, onChange, data }: ChoiceProps) {
  return (
    <Select
      aria-label={label}
      placeholder={label}
      data={data}
      value={value ?? null}
      onChange={(value) => onChange(value ?? undefined)}
      clearable
      w={150}
      clearButtonProps={{ "aria-label": `Any ${label.toLowerCase()}` }}
    />
  );
}
