/** Sends changes of access as a request that others decide. */
import { Alert, Button, Stack, Textarea } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../api/actions.ts";
import { ApiError, sortProblems } from "../api/errors.ts";
import { ErrorMessage, LoadingRows } from "../components/states.tsx";
import { serverNow } from "../now.ts";
import { paths } from "../paths.ts";
import { FormButtons } from "../ui/dialog.tsx";
import { DurationInput } from "../ui/duration-input.tsx";
import { durationText, type DurationChoice } from "../ui/duration.ts";
import { useGo } from "../ui/link.tsx";
import { type AccessChange, canEnd, changesWith } from "./changes.ts";
import { Effects } from "./effects.tsx";
import { MatchingRules } from "./matching-rules.tsx";
import { previewOf, rulesOf } from "./preview-query.ts";

export interface RequestDraft {
  readonly reason: string;
  /** Null: the access doesn't end, or only with its own expiry. */
  readonly seconds: number | null;
}

const hour = 3600;
const day = 24 * hour;
const durations: readonly DurationChoice[] = [hour, 8 * hour, day, 7 * day, 30 * day].map((seconds) => ({
  seconds,
  label: seconds === 7 * day ? "1 week" : durationText(seconds),
}));
const defaultDraft: RequestDraft = { reason: "", seconds: 8 * hour };
const [secondsMin, secondsMax] = [300, 365 * day];

interface AccessRequestFormProps {
  readonly organization: string;
  readonly changes: readonly AccessChange[];
  readonly initial?: RequestDraft | undefined;
  readonly onCancel?: () => void;
}

const fields = ["reason", "duration-seconds"];

function durationFault(seconds: number | null): string | undefined {
  if (seconds === null || (seconds >= secondsMin && seconds <= secondsMax)) return undefined;
  return `Enter a duration between ${durationText(secondsMin)} and ${durationText(secondsMax)}.`;
}

/** The draft, its faults, and how to send it. */
function useRequest({ organization, changes, initial = defaultDraft }: AccessRequestFormProps) {
  const [draft, setDraft] = useState(initial);
  const [isSubmitted, setSubmitted] = useState(false);
  const go = useGo();
  const action = useAction("POST /organizations/{organization_name}/access-requests", {
    done: "Sent the request to the people who can decide it.",
    refusal: "form",
    after: ({ data }) => go(paths.accessRequest(organization, data.id)),
  });
  const hasEnd = changes.length > 0 && changes.every(canEnd);
  const seconds = hasEnd ? draft.seconds : null;
  const reason = draft.reason.trim();
  const { byField, rest } = sortProblems(action.error ?? new ApiError(0, []), fields);
  const faults = {
    reason: byField["reason"] ?? (isSubmitted && reason === "" ? "Say why. The people who decide read it." : undefined),
    duration: byField["duration-seconds"] ?? durationFault(seconds),
    error: rest.length > 0 ? action.error : null,
  };
  const send = () => {
    setSubmitted(true);
    if (reason === "" || durationFault(seconds) !== undefined) return;
    const attributes = { changes: changesWith(changes, { reason }), reason, "duration-seconds": seconds };
    action.mutate({
      path: { organization_name: organization },
      body: { data: { type: "access-requests", attributes } },
    });
  };
  const set = (changed: Partial<RequestDraft>) => setDraft({ ...draft, ...changed });
  return { draft, set, hasEnd, seconds, reason, faults, send, isPending: action.isPending };
}

export function AccessRequestForm(props: AccessRequestFormProps) {
  const { organization, changes, onCancel } = props;
  const { draft, set, hasEnd, seconds, reason, faults, send, isPending } = useRequest(props);
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Stack gap="md">
        {hasEnd && (
          <DurationInput
            label="Duration"
            none="Never expires"
            choices={durations}
            value={draft.seconds}
            onChange={(seconds) => set({ seconds })}
            error={faults.duration}
            description={
              seconds === null ? "Access stays until someone removes it." : "Starts when the request is approved."
            }
          />
        )}
        <Textarea
          label="Reason"
          description="Shown to the people who decide, and when someone asks why."
          inputWrapperOrder={["label", "input", "description", "error"]}
          autosize
          minRows={2}
          maw="46rem"
          maxLength={500}
          required
          value={draft.reason}
          error={faults.reason}
          onChange={(event) => set({ reason: event.currentTarget.value })}
        />
        <RequestEffects organization={organization} changes={changes} reason={reason} seconds={seconds} />
        {faults.error && <ErrorMessage error={faults.error} title="Request failed" isRequestable={false} />}
        <FormButtons onCancel={onCancel}>
          <Button type="submit" loading={isPending} disabled={changes.length === 0}>
            Send request
          </Button>
        </FormButtons>
      </Stack>
    </form>
  );
}

interface RequestEffectsProps {
  readonly organization: string;
  readonly changes: readonly AccessChange[];
  readonly reason: string;
  readonly seconds: number | null;
}

const soonMs = 250;

/** Rules can depend on the reason and on the duration. */
function previewedChanges(changes: readonly AccessChange[], reason: string, seconds: number | null) {
  const end = seconds === null ? {} : { "expires-at": new Date(serverNow() + seconds * 1000).toISOString() };
  return changesWith(changes, { ...(reason !== "" && { reason }), ...end });
}

function RequestEffects({ organization, changes, reason, seconds }: RequestEffectsProps) {
  const key = JSON.stringify([changes, reason, seconds]);
  const [settled] = useDebouncedValue(key, soonMs);
  const [shown, setShown] = useState({ key, changes: previewedChanges(changes, reason, seconds) });
  // Once for each input: the expiry would differ on every render.
  if (shown.key !== settled && settled === key) setShown({ key, changes: previewedChanges(changes, reason, seconds) });
  const query = useQuery({ ...previewOf(organization, shown.changes), enabled: shown.changes.length > 0 });
  const preview = query.data?.data.attributes;
  if (query.isError && !preview) return <ErrorMessage error={query.error} isRequestable={false} />;
  if (!preview) return changes.length === 0 ? null : <LoadingRows rows={3} />;
  const rules = rulesOf(preview);
  return (
    <Stack gap="sm" aria-busy={query.isFetching}>
      <Effects preview={preview} />
      <MatchingRules rules={rules} />
      {preview.allowed && (
        <Alert color="blue" variant="light" p="xs" role="note">
          You can make {changes.length === 1 ? "this change" : "these changes"} yourself, without a request.
        </Alert>
      )}
    </Stack>
  );
}
