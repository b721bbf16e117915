/** How much, until when and what for; and below it what that would change. */
import { Checkbox, Group, Select, SimpleGrid, Stack, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { giving } from "../../access/changes.ts";
import { attributesOf, type Chosen, choicesOn, chosenIn, type Level, levelsOn, lowest } from "../../access/levels.ts";
import { Preview } from "../../access/preview.tsx";
import type { ThingKind } from "../../access/words.ts";

/** A record of team access, of either kind. */
export interface RecordDocument {
  readonly id: string;
  readonly attributes: Readonly<Record<string, any>> & { readonly access: string };
  readonly relationships: { readonly team?: { readonly data?: { readonly id: string } } };
}

interface GrantFormProps {
  readonly organization: string;
  readonly kind: ThingKind;
  readonly teamId: string;
  readonly placeId: string;
  readonly names: { readonly team: string; readonly place: string };
  readonly record: RecordDocument | undefined;
  readonly after: () => void;
}

interface Draft {
  readonly level: string;
  readonly chosen: Chosen;
  /** A day of the caller's calendar: `2026-12-31`; empty for ever. */
  readonly until: string;
  readonly reason: string;
}

const soonMs = 250;

function draftOf(kind: ThingKind, record: RecordDocument | undefined): Draft {
  const given = record?.attributes;
  return {
    level: given?.access ?? "read",
    chosen: given ? chosenIn(kind, given) : lowest(kind),
    until: given?.["expires-at"] ? dayOf(given["expires-at"]) : "",
    reason: given?.["reason"] ?? "",
  };
}

/** The day on the caller's calendar. */
function dayOf(time: string): string {
  const date = new Date(time);
  const two = (part: number) => String(part).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Through the whole of the day; a day that was not touched keeps the moment that it had. */
function endOf(until: string, record: RecordDocument | undefined): string | null {
  if (until === "") return null;
  const before = record?.attributes["expires-at"] as string | null | undefined;
  if (before && dayOf(before) === until) return before;
  const end = new Date(`${until}T23:59:59`);
  return Number.isNaN(end.getTime()) ? null : end.toISOString();
}

const changeOf = ({ kind, placeId, teamId, record }: GrantFormProps, { level, chosen, until, reason }: Draft) =>
  giving(
    kind,
    placeId,
    teamId,
    {
      access: level,
      ...(level === "custom" && attributesOf(chosen)),
      "expires-at": endOf(until, record),
      reason: reason.trim() === "" ? null : reason.trim(),
    },
    record?.id,
  );

export function GrantForm(props: GrantFormProps) {
  const { organization, kind, names, record, after } = props;
  const [draft, setDraft] = useState(() => draftOf(kind, record));
  const [settled] = useDebouncedValue(draft, soonMs);
  const set = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const levels = levelsOn[kind];
  return (
    <Stack gap="md">
      <Group align="flex-start" gap="sm">
        <Select
          label="Level"
          description={levels.find(({ value }) => value === draft.level)?.about}
          inputWrapperOrder={["label", "input", "description"]}
          w={{ base: "100%", xs: 300 }}
          data={levels.map(({ value }) => value)}
          renderOption={({ option }) => <LevelOption level={levels.find(({ value }) => value === option.value)} />}
          value={draft.level}
          onChange={(level) => set({ level: level ?? "read" })}
        />
        <TextInput
          type="date"
          label="Until"
          description="the end of that day; empty: for ever"
          inputWrapperOrder={["label", "input", "description"]}
          w={{ base: "100%", xs: 210 }}
          value={draft.until}
          onChange={(event) => set({ until: event.currentTarget.value })}
        />
        <TextInput
          label="Reason"
          description="shown wherever it is asked why"
          inputWrapperOrder={["label", "input", "description"]}
          flex={1}
          miw={220}
          value={draft.reason}
          onChange={(event) => set({ reason: event.currentTarget.value })}
        />
      </Group>
      {draft.level === "custom" && <Custom kind={kind} chosen={draft.chosen} onChange={(chosen) => set({ chosen })} />}
      <Preview
        organization={organization}
        changes={[changeOf(props, settled)]}
        isSettling={draft !== settled}
        verb={record ? "Change the grant" : "Grant access"}
        done={`${names.team} now has ${draft.level} on ${names.place}.`}
        after={after}
        onCancel={after}
      />
    </Stack>
  );
}

const LevelOption = ({ level }: { readonly level: Level | undefined }) => (
  <div>
    <Text fz="sm">{level?.value}</Text>
    <Text fz="xs" c="dimmed">
      {level?.about}
    </Text>
  </div>
);

interface CustomProps {
  readonly kind: ThingKind;
  readonly chosen: Chosen;
  readonly onChange: (chosen: Chosen) => void;
}

function Custom({ kind, chosen, onChange }: CustomProps) {
  const several = choicesOn[kind].filter(({ options }) => options !== undefined);
  const single = choicesOn[kind].filter(({ options }) => options === undefined);
  return (
    <Stack gap="sm" role="group" aria-label="Permissions">
      <SimpleGrid cols={{ base: 2, sm: 3 }} spacing="sm">
        {several.map(({ attribute, label, options = [] }) => (
          <Select
            key={attribute}
            size="xs"
            label={label}
            data={[...options]}
            value={String(chosen[attribute] ?? options[0])}
            onChange={(value) => onChange({ ...chosen, [attribute]: value ?? "" })}
          />
        ))}
      </SimpleGrid>
      <Group gap="lg">
        {single.map(({ attribute, label }) => (
          <Checkbox
            key={attribute}
            size="xs"
            label={label}
            checked={chosen[attribute] === true}
            onChange={(event) => onChange({ ...chosen, [attribute]: event.currentTarget.checked })}
          />
        ))}
      </Group>
    </Stack>
  );
}
