/** The workspaces to choose from: searched, of one project or of all, ticked one by one or as a range. */
import { Checkbox, Group, Text } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { Picker } from "../../pickers.tsx";
import { includedIn, type Resource } from "../../api/client.ts";
import { useRows } from "../../api/pages.ts";
import { useAddress } from "../../ui/address.ts";
import { LongTable } from "../../ui/long-table.tsx";
import { SearchInput } from "../../ui/search-input.tsx";
import { Empty, LoadingRows, Refusal } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { counted } from "../../ui/text.tsx";
import { Name } from "../../ui/name.tsx";

interface ChooseProps {
  readonly organization: string;
  readonly chosen: readonly string[];
  readonly onChoose: (ids: readonly string[]) => void;
}

interface Item {
  readonly index: number;
  readonly row: Resource<"workspaces">;
  readonly page: { readonly included?: readonly any[] };
}

const columnsOf = (
  chosen: readonly string[],
  tick: (index: number, isTicked: boolean, isRange: boolean) => void,
): Column<Item>[] => [
  {
    title: "Chosen",
    width: 56,
    cell: ({ index, row }) => (
      <Checkbox
        size="xs"
        aria-label={`Choose ${row.attributes.name}`}
        checked={chosen.includes(row.id)}
        onChange={(event) => tick(index, event.currentTarget.checked, (event.nativeEvent as MouseEvent).shiftKey)}
      />
    ),
  },
  {
    title: "Name",
    width: "minmax(0, 2fr)",
    cell: ({ row }) => <Name>{row.attributes.name}</Name>,
  },
  {
    title: "Project",
    cell: ({ row, page }) => includedIn(page, "projects", row.relationships.project?.data?.id)?.attributes.name,
  },
];

export function ChooseWorkspaces({ organization, chosen, onChoose }: ChooseProps) {
  const { search } = useAddress();
  const rows = useRows("GET /organizations/{organization_name}/workspaces", {
    path: { organization_name: organization },
    query: { "search[name]": search["q"], "filter[project][id]": search["from"], sort: "name", include: "project" },
  });
  const [last, setLast] = useState<number>();
  /** With Shift, everything from the one before to this one becomes what this one becomes. */
  const tick = (index: number, isTicked: boolean, isRange: boolean) => {
    const from = isRange && last !== undefined ? last : index;
    setLast(index);
    const [low, high] = [Math.min(from, index), Math.max(from, index)];
    const range = Array.from({ length: high - low + 1 }, (_, step) => rows.rowAt(low + step)?.row.id).filter(
      (id) => id !== undefined,
    );
    const others = chosen.filter((id) => !range.includes(id));
    onChoose(isTicked ? [...others, ...range] : others);
  };
  return (
    <>
      <Filters organization={organization} />
      <Text c="dimmed" fz="sm" mb={4} aria-live="polite">
        {rows.count === undefined ? " " : counted(rows.count, "workspace")}
      </Text>
      {rows.error ? <Refusal error={rows.error} /> : null}
      {rows.isLoading && <LoadingRows rows={12} height={34} />}
      {rows.count === 0 && <Empty title="No workspace is like that">None that you may see fits the search.</Empty>}
      {rows.count !== undefined && rows.count > 0 && (
        <LongTable
          label="Workspaces to move"
          columns={columnsOf(chosen, tick)}
          count={rows.count}
          rowAt={(index) => {
            const found = rows.rowAt(index);
            return found && { index, ...found };
          }}
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
        label="Search names"
        placeholder="network…"
        leftSection={<IconSearch size={14} />}
        value={search["q"]}
        onChange={(q) => set({ q })}
        flex={1}
        miw={140}
      />
      <Picker
        kind="projects"
        label="From the project"
        placeholder="any"
        w={160}
        organization={organization}
        value={search["from"]}
        onChange={(from) => set({ from })}
      />
    </Group>
  );
}
