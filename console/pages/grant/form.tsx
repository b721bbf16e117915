/** The level, expiry and reason of a grant, with a preview of its effects. */
import { Alert, Group, Stack, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useState } from "react";
import { grantChange } from "../../access/changes.ts";
import { attributesOf, type CustomPermissions, chosenPermissionsOf, defaultPermissions } from "../../access/columns.ts";
import type { GrantDocument } from "../../access/existing-grant.ts";
import { CustomPermissionInputs, LevelInput } from "../../access/level-input.tsx";
import { type FieldFaults, Preview } from "../../access/preview.tsx";
import type { AccessTargetKind } from "../../access/words.ts";
import { type Expiry, expiryFault, expiryInstant } from "../../ui/expiry.ts";
import { ExpiryInput } from "../../ui/expiry-input.tsx";

interface GrantFormProps {
  readonly organization: string;
  readonly kind: AccessTargetKind;
  readonly teamId: string;
  readonly targetId: string;
  readonly names: { readonly team: string; readonly target: string };
  readonly record: GrantDocument | undefined;
  readonly after: () => void;
}

interface GrantDraft {
  readonly level: string;
  readonly chosen: CustomPermissions;
  readonly expiry: Expiry;
  readonly reason: string;
}

const soonMs = 250;

function draftOf(kind: AccessTargetKind, record: GrantDocument | undefined): GrantDraft {
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

/** A relative expiry counts from approval. */
function requestOf(props: GrantFormProps, draft: GrantDraft) {
  const { expiry, reason } = draft;
  const seconds = expiry !== null && "seconds" in expiry ? expiry.seconds : null;
  const changes = [changeOf(props, { ...draft, expiry: seconds === null ? expiry : null })];
  return { changes, draft: { reason, seconds } };
}

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
      {draft.level === "custom" && (
        <CustomPermissionInputs kind={kind} chosen={draft.chosen} onChange={(chosen) => set({ chosen })} />
      )}
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
        request={requestOf(props, previewed.draft)}
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
