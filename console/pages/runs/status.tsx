/** A run's status as an icon and a word, never a colour alone. */
import { Text } from "@mantine/core";
import { sentenceCase } from "../../ui/text.tsx";
import { needsConfirmation } from "../../api/list-queries.ts";

type StatusLabel = { readonly sign: string; readonly color: string; readonly words?: string };

const waiting: StatusLabel = { sign: "○", color: "dimmed" };
const working: StatusLabel = { sign: "◐", color: "blue" };
const statusLabels: Record<string, StatusLabel> = {
  pending: waiting,
  queuing: waiting,
  plan_queued: { ...waiting, words: "Plan queued" },
  apply_queued: { ...waiting, words: "Apply queued" },
  fetching: working,
  pre_plan_running: working,
  planning: working,
  applying: working,
  planned: { sign: "▲", color: "orange", words: "Needs confirmation" },
  planned_and_saved: { sign: "▲", color: "orange", words: "Plan saved" },
  cost_estimated: { sign: "▲", color: "orange", words: "Needs confirmation" },
  policy_checked: { sign: "▲", color: "orange", words: "Needs confirmation" },
  applied: { sign: "●", color: "teal" },
  planned_and_finished: { sign: "●", color: "teal", words: "No changes" },
  errored: { sign: "✕", color: "red" },
  canceled: { sign: "–", color: "dimmed" },
  force_canceled: { sign: "–", color: "dimmed", words: "Force-canceled" },
  discarded: { sign: "–", color: "dimmed" },
};

export function RunStatus({ status }: { readonly status: string | undefined }) {
  if (status === undefined)
    return (
      <Text span inherit c="dimmed">
        –
      </Text>
    );
  const { sign, color, words = sentenceCase(status) } = statusLabels[status] ?? waiting;
  return (
    <span style={{ whiteSpace: "nowrap" }}>
      <Text span c={color} aria-hidden fz="sm" lh={1} display="inline-block" w="1.25rem">
        {sign}
      </Text>
      {words}
    </span>
  );
}

export const runStatusChoices: { readonly value: string; readonly label: string }[] = [
  { value: needsConfirmation, label: "Needs confirmation" },
  { value: "pending,fetching,queuing,plan_queued,planning,apply_queued,applying", label: "In progress" },
  { value: "applied,planned_and_finished", label: "Finished" },
  { value: "errored", label: "Errored" },
  { value: "canceled,force_canceled,discarded", label: "Canceled or discarded" },
];

const finalStatuses = ["applied", "planned_and_finished", "errored", "canceled", "force_canceled", "discarded"];

export const isFinal = (status: string): boolean => finalStatuses.includes(status);
