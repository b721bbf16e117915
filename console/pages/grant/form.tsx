/** The level, expiry and reason of a grant, with a preview of its effects. */
import { Alert, Checkbox, Group, Input, SegmentedControl, Select, SimpleGrid, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useId, useState } from "react";
import { grantChange } from "../../access/changes.ts";
import {
  attributesOf,
  type CustomPermissions,
  choicesOn,
  chosenPermissionsOf,
  levelsOn,
  defaultPermissions,
} from "../../access/columns.ts";
import { type FieldFaults, Preview } from "../../access/preview.tsx";
import type { AccessTargetKind } from "../../access/words.ts";
import { type Expiry, expiryFault, expiryInstant } from "../../ui/expiry.ts";
import { ExpiryInput } from "../../ui/expiry-input.tsx";

export interface RecordDocument {
  readonly id: string;
  readonly attributes: Readonly<Record<string, any>> & { readonly access: string };
  readonly relationships: { readonly team?: { readonly data?: { readonly id: string } } };
}

interface GrantFormProps {
  readonly organization: string;
  readonly kind: AccessTargetKind;
  readonly teamId: string;
  readonly targetId: string;
  readonly names: { readonly team: string; readonly target: string };
  readonly record: RecordDocument | undefined;
  readonly after: () => void;
}

interface GrantDraft {
  readonly level: string;
  readonly chosen: CustomPermissions;
  readonly expiry: Expiry;
  readonly reason: string;
}

const soonMs = 250;

function draftOf(kind: AccessTargetKind, record: RecordDocument | undefined): GrantDraft {
  const given = record?.attributes;
  return {
    level: given?.access ?? "read",
    chosen: given ? chosenPermissionsOf(kind, given) : defaultPermissions(kind),
    expiry: given?.["expires-at"] ? { at: given["expires-at"] } : null,
    reason: given?.["reason"] ?? "",
  };
}

/** A relative expiry counts from this call. */
const changeOf = ({ kind, targetId, teamId, record }: GrantFormProps, { level, chosen, expiry, reason }: GrantDraft) =>
  grantChange(
    kind,
    targetId,
    teamId,
    {
      access: level,
      ...(level === "custom" && attributesOf(chosen)),
      "expires-at": expiryInstant(expiry),
      reason: reason.trim() === "" ? null : reason.trim(),
    },
    record?.id,
  );

export function GrantForm(props: GrantFormProps) {
  const { organization, kind, names, record, after } = props;
  const [draft, setDraft] = useState(() => draftOf(kind, record));
  const [faults, setFaults] = useState<FieldFaults>({});
  const [settled] = useDebouncedValue(draft, soonMs);
  const [previewed, setPreviewed] = useState(() => ({ draft, change: changeOf(props, draft) }));
  // Once for each draft: "in 1 hour" would differ on every render.
  if (previewed.draft !== settled && expiryFault(settled.expiry) === undefined)
    setPreviewed({ draft: settled, change: changeOf(props, settled) });
  const set = (changes: Partial<GrantDraft>) => setDraft({ ...draft, ...changes });
  return (
    <Stack gap="md">
      <Group align="flex-start" gap="lg">
        <LevelInput kind={kind} value={draft.level} onChange={(level) => set({ level })} />
        <ExpiryInput
          never="This grant has no expiry."
          value={draft.expiry}
          onChange={(expiry) => set({ expiry })}
          error={faults["expires-at"]}
        />
      </Group>
      {draft.level === "custom" && <Custom kind={kind} chosen={draft.chosen} onChange={(chosen) => set({ chosen })} />}
      <TextInput
        label="Reason"
        description="Shown when someone asks why."
        inputWrapperOrder={["label", "input", "description", "error"]}
        maw="46rem"
        value={draft.reason}
        error={faults["reason"]}
        onChange={(event) => set({ reason: event.currentTarget.value })}
      />
      {record && draft.expiry !== null && (
        <Alert color="yellow" variant="light" p="xs" role="note">
          This replaces the {record.attributes.access} that {names.team} has now. When it expires, nothing is restored:{" "}
          {names.team} then has no access to {names.target} from this grant.
        </Alert>
      )}
      <Preview
        organization={organization}
        changes={[previewed.change]}
        changesNow={() => [changeOf(props, draft)]}
        fields={fields}
        onFaults={setFaults}
        isSettling={draft !== previewed.draft || expiryFault(draft.expiry) !== undefined}
        verb={record ? "Change grant" : "Grant access"}
        done={`${names.team} now has ${draft.level} on ${names.target}.`}
        after={after}
        onCancel={after}
      />
    </Stack>
  );
}

const fields = ["expires-at", "reason"];

interface LevelInputProps {
  readonly kind: AccessTargetKind;
  readonly value: string;
  readonly onChange: (level: string) => void;
}

function LevelInput({ kind, value, onChange }: LevelInputProps) {
  const id = useId();
  const levels = levelsOn[kind];
  return (
    <Input.Wrapper label="Level" labelElement="div" labelProps={{ id }} w={{ base: "100%", xs: 340 }}>
      <SegmentedControl
        display="flex"
        mt={2}
        size="xs"
        aria-labelledby={id}
        data={levels.map(({ value }) => value)}
        value={value}
        onChange={onChange}
      />
      <Input.Description mt={4} aria-live="polite">
        {levels.find((level) => level.value === value)?.about}
      </Input.Description>
    </Input.Wrapper>
  );
}

interface CustomProps {
  readonly kind: AccessTargetKind;
  readonly chosen: CustomPermissions;
  readonly onChange: (chosen: CustomPermissions) => void;
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
