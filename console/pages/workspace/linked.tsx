/** A list of linked workspaces, with actions to add and remove one. */
import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { Picker } from "../../components/pickers.tsx";
import { Table, type TableColumn } from "../../ui/table.tsx";
import { WorkspaceLink } from "../../components/list.tsx";

interface Linked {
  readonly key: string;
  readonly name: string | null;
}

export const unseenWorkspace = "A workspace that you can't see";

interface LinkedWorkspacesProps {
  readonly label: string;
  readonly organization: string;
  readonly rows: readonly Linked[];
  readonly change?:
    | {
        readonly without: readonly string[];
        readonly verb: string;
        readonly isBusy: boolean;
        readonly onAdd: (id: string) => void;
        readonly onRemove: (key: string) => void;
      }
    | undefined;
}

export function LinkedWorkspaces({ label, organization, rows, change }: LinkedWorkspacesProps) {
  const [chosen, setChosen] = useState<string>();
  const columns: (TableColumn<Linked> | false)[] = [
    {
      title: "Workspace",
      cell: ({ name }) =>
        name === null ? (
          <Text c="dimmed">{unseenWorkspace}</Text>
        ) : (
          <WorkspaceLink organization={organization} name={name} />
        ),
    },
    change !== undefined && {
      title: "",
      width: 90,
      cell: ({ key, name }) => (
        <Button
          variant="subtle"
          color="red"
          size="compact-xs"
          aria-label={`Remove ${name ?? unseenWorkspace}`}
          onClick={() => change.onRemove(key)}
        >
          Remove
        </Button>
      ),
    },
  ];
  return (
    <>
      {rows.length === 0 ? (
        <Text c="dimmed">No workspaces yet.</Text>
      ) : (
        <Table label={label} rows={rows} keyOf={({ key }) => key} columns={columns.filter((each) => each !== false)} />
      )}
      {change && (
        <Group gap="xs">
          <Picker
            kind="workspaces"
            organization={organization}
            aria-label="Workspace"
            placeholder="Select a workspace…"
            w={260}
            without={change.without}
            value={chosen}
            onChange={setChosen}
          />
          <Button
            variant="default"
            h={36}
            disabled={chosen === undefined}
            loading={change.isBusy}
            onClick={() => {
              if (chosen !== undefined) change.onAdd(chosen);
              setChosen(undefined);
            }}
          >
            {change.verb}
          </Button>
        </Group>
      )}
    </>
  );
}
