/** The workspaces to select from, with search and a project filter. */
import { Group, Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useMemo } from "react";
import { Picker } from "../../components/pickers.tsx";
import { includedIn, type Resource } from "../../api/client.ts";
import { useRows } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import { LongTable } from "../../ui/long-table.tsx";
import { SearchInput } from "../../ui/inputs.tsx";
import { LoadingRows, NoMatches, ErrorMessage } from "../../components/states.tsx";
import type { TableColumn } from "../../ui/table.tsx";
import { counted, Name } from "../../ui/text.tsx";
import { type Selection, SelectMatching, tickId, useTickColumn } from "./selection.tsx";
import { movableFilters, movableRows } from "../../api/list-queries.ts";

interface MoveListItem {
  readonly row: Resource<"workspaces">;
  readonly page: { readonly included?: readonly any[] };
}

const columns: readonly TableColumn<MoveListItem>[] = [
  {
    title: "Name",
    width: "minmax(0, 2fr)",
    cell: ({ row }) => (
      <label htmlFor={tickId(row.id)}>
        <Name>{row.attributes.name}</Name>
      </label>
    ),
  },
  {
    title: "Project",
    cell: ({ row, page }) => includedIn(page, "projects", row.relationships.project?.data?.id)?.attributes.name,
  },
];

interface ChooseProps {
  readonly organization: string;
  readonly selection: Selection;
}

export function ChooseWorkspaces({ organization, selection }: ChooseProps) {
  const { search } = useAddress();
  const rows = useRows(...movableRows(organization, search));
  const tick = useTickColumn(selection, rows.rowAt);
  const all = useMemo(() => [tick, ...columns], [tick]);
  return (
    <>
      <Filters organization={organization} />
      <Group justify="space-between" gap="xs" mih={30}>
        <Text c="dimmed" fz="sm" aria-live="polite">
          {rows.count === undefined ? " " : counted(rows.count, "workspace")}
        </Text>
        <SelectMatching {...{ organization, selection }} query={movableFilters(search)} count={rows.count} />
      </Group>
      {rows.error ? <ErrorMessage error={rows.error} /> : null}
      {rows.isLoading && <LoadingRows rows={12} height={34} />}
      {rows.count === 0 && <NoMatches many="workspaces" search={search["q"]} />}
      {rows.count !== undefined && rows.count > 0 && (
        <LongTable
          label="Workspaces to move"
          columns={all}
          count={rows.count}
          rowAt={rows.rowAt}
          onRange={rows.onRange}
        />
      )}
    </>
  );
}

function Filters({ organization }: { readonly organization: string }) {
  const { search, set } = useAddress();
  return (
    <Group gap="xs" mb="xs" align="flex-end">
      <SearchInput
        label="Search workspaces"
        placeholder="network…"
        data-search
        leftSection={<IconSearch size={14} />}
        value={search["q"]}
        onChange={(q) => set({ q })}
        flex={1}
        miw={140}
      />
      <Picker
        kind="projects"
        label="From project"
        placeholder="Any"
        clearLabel="Any project"
        w={160}
        organization={organization}
        value={search["from"]}
        onChange={(from) => set({ from })}
      />
    </Group>
  );
}
