/** A field for the changes of an offer: memberships of teams, and grants on projects and workspaces. */
import { Button, Group, Input, Paper, SegmentedControl, Stack } from "@mantine/core";
import { useId, useState, type ReactNode } from "react";
import { ChangeList, ChangeText } from "../../access/change-text.tsx";
import { grantChange, joinTeamChange, takerId } from "../../access/changes.ts";
import { attributesOf, defaultPermissions, type CustomPermissions } from "../../access/columns.ts";
import { CustomPermissionInputs, LevelInput } from "../../access/level-input.tsx";
import type { Attributes } from "../../api/client.ts";
import type { AccessTargetKind } from "../../access/words.ts";
import { Picker } from "../../components/pickers.tsx";

export type OfferedChange = Attributes<"access-offers">["changes"][number];

interface ChangesInputProps {
  readonly organization: string;
  readonly value?: readonly OfferedChange[];
  readonly onChange?: (changes: readonly OfferedChange[]) => void;
  readonly error?: ReactNode;
}

export function ChangesInput({ organization, value = [], onChange, error }: ChangesInputProps) {
  const [added, setAdded] = useState(0);
  const add = (change: OfferedChange) => {
    setAdded(added + 1);
    onChange?.([...value, change]);
  };
  const remove = (index: number) => (
    <Button
      variant="subtle"
      color="gray"
      size="compact-xs"
      ml={4}
      aria-label={`Remove change ${index + 1}`}
      onClick={() => onChange?.(value.toSpliced(index, 1))}
    >
      Remove
    </Button>
  );
  return (
    <Input.Wrapper
      label="Access"
      labelElement="div"
      description="What the person gets. Everything expires together."
      error={error}
    >
      <Stack gap="xs" mt={4}>
        {value.length > 0 && <ChangeList organization={organization} changes={value} label="Access" actions={remove} />}
        <NewChange key={added} isAgain={added > 0} organization={organization} onAdd={add} />
      </Stack>
    </Input.Wrapper>
  );
}

type NewKind = "seat" | AccessTargetKind;

const kinds: { value: NewKind; label: string }[] = [
  { value: "seat", label: "Team membership" },
  { value: "project", label: "Project" },
  { value: "workspace", label: "Workspace" },
];

interface NewChangeProps {
  /** The previous one was just added, and the focus with it. */
  readonly isAgain: boolean;
  readonly organization: string;
  readonly onAdd: (change: OfferedChange) => void;
}

function NewChange({ organization, isAgain, onAdd }: NewChangeProps) {
  const [kind, setKind] = useState<NewKind>("seat");
  const [team, setTeam] = useState<string>();
  const [target, setTarget] = useState<string>();
  const [level, setLevel] = useState("write");
  const [chosen, setChosen] = useState<CustomPermissions>({});
  const id = useId();
  const choose = (next: string) => {
    setKind(next as NewKind);
    setTarget(undefined);
    setLevel("write");
    if (next !== "seat") setChosen(defaultPermissions(next as AccessTargetKind));
  };
  const change = () => {
    if (team === undefined) return undefined;
    if (kind === "seat") return joinTeamChange(team, takerId);
    if (target === undefined) return undefined;
    return grantChange(
      kind,
      target,
      team,
      { access: level, ...(level === "custom" && attributesOf(chosen)) },
      undefined,
    );
  };
  const ready = change();
  return (
    <Paper withBorder p="sm" role="group" aria-labelledby={id}>
      <Stack gap="sm">
        <Input.Label id={id} component="div">
          Add access
        </Input.Label>
        <SegmentedControl size="xs" data={kinds} value={kind} onChange={choose} aria-label="Kind of access" />
        <Group align="flex-end" gap="sm">
          <Picker
            kind="teams"
            label="Team"
            placeholder="Search teams…"
            autoFocus={isAgain}
            w={{ base: "100%", xs: 220 }}
            organization={organization}
            value={team}
            onChange={setTeam}
          />
          {kind !== "seat" && (
            <Picker
              key={kind}
              kind={`${kind}s`}
              label={kind === "project" ? "Project" : "Workspace"}
              placeholder={`Search ${kind}s…`}
              w={{ base: "100%", xs: 240 }}
              organization={organization}
              value={target}
              onChange={setTarget}
            />
          )}
        </Group>
        {kind !== "seat" && <LevelInput kind={kind} value={level} onChange={setLevel} />}
        {kind !== "seat" && level === "custom" && (
          <CustomPermissionInputs kind={kind} chosen={chosen} onChange={setChosen} />
        )}
        <Group gap="sm">
          <Button
            variant="default"
            disabled={ready === undefined}
            onClick={() => ready && onAdd({ ...ready, method: "POST" })}
          >
            Add
          </Button>
          {ready && (
            <span>
              <ChangeText organization={organization} change={ready} />
            </span>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}
