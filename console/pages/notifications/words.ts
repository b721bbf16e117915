/** How notifications are spoken of: of what somebody can be told, and how. */
import type { Resource } from "../../api/client.ts";

/** What somebody is told about. */
export type Subject = { readonly kind: "workspace" | "project" | "team"; readonly id: string };
export type Notification = Resource<"notification-configurations">;
export type Trigger = Notification["attributes"]["triggers"][number];

/** What never happens here is not offered; what a configuration has of it stays. */
export const triggers: readonly { readonly value: Trigger; readonly label: string }[] = [
  { value: "run:created", label: "a run is made" },
  { value: "run:planning", label: "a plan begins" },
  { value: "run:needs_attention", label: "a run needs somebody" },
  { value: "run:applying", label: "an apply begins" },
  { value: "run:completed", label: "a run is finished" },
  { value: "run:errored", label: "a run fails, is canceled or discarded" },
  { value: "assessment:drifted", label: "what is there has drifted from the state" },
  { value: "assessment:check_failure", label: "a check fails" },
  { value: "assessment:failed", label: "an assessment fails" },
  { value: "workspace:auto_destroy_reminder", label: "a workspace is destroyed within a day" },
  { value: "workspace:auto_destroy_run_results", label: "a scheduled destroy run has ended" },
];

export const usualTriggers: readonly Trigger[] = ["run:needs_attention", "run:completed", "run:errored"];

export function wordsOf(names: readonly Trigger[]): string {
  if (names.length === 0) return "nothing yet";
  const labels = names.map((name) => triggers.find(({ value }) => value === name)?.label ?? name);
  return labels.length <= 2 ? labels.join(", ") : `${labels[0]}, and ${labels.length - 1} more`;
}

export const destinations = [
  { value: "generic", label: "JSON to an address" },
  { value: "slack", label: "Slack" },
  { value: "microsoft-teams", label: "Microsoft Teams" },
  { value: "email", label: "mail" },
] as const;
export type Destination = (typeof destinations)[number]["value"];

export const destinationWords = (value: string): string =>
  destinations.find((one) => one.value === value)?.label ?? value;
