/** The events and destinations of notifications, in words. */
import type { Resource } from "../../api/client.ts";
import { notificationsOfProject, notificationsOfTeam, notificationsOfWorkspace } from "../../api/detail-queries.ts";

export type NotificationSubject = { readonly kind: keyof typeof notificationsOf; readonly id: string };
export const notificationsOf = {
  workspace: notificationsOfWorkspace,
  project: notificationsOfProject,
  team: notificationsOfTeam,
};
export type Notification = Resource<"notification-configurations">;
export type Trigger = Notification["attributes"]["triggers"][number];

/** Events that never occur here are not offered; an existing configuration keeps them. */
const triggers: readonly { readonly value: Trigger; readonly label: string }[] = [
  { value: "run:created", label: "Run created" },
  { value: "run:planning", label: "Plan started" },
  { value: "run:needs_attention", label: "Run needs confirmation" },
  { value: "run:applying", label: "Apply started" },
  { value: "run:completed", label: "Run finished" },
  { value: "run:errored", label: "Run failed, canceled or discarded" },
  { value: "assessment:drifted", label: "Drift detected" },
  { value: "assessment:check_failure", label: "Check failed" },
  { value: "assessment:failed", label: "Health assessment failed" },
  { value: "workspace:auto_destroy_reminder", label: "Workspace will be destroyed within a day" },
  { value: "workspace:auto_destroy_run_results", label: "Scheduled destroy run finished" },
  { value: "access-request:created", label: "Access requested" },
  { value: "access-request:decided", label: "Access request decided" },
  { value: "access-request:break-glass", label: "Break-glass access used" },
];

export const triggersFor = (kind: NotificationSubject["kind"]): typeof triggers =>
  kind === "team" ? triggers : triggers.filter(({ value }) => !value.startsWith("access-request:"));

export const usualTriggers: readonly Trigger[] = ["run:needs_attention", "run:completed", "run:errored"];

export function wordsOf(names: readonly Trigger[]): string {
  if (names.length === 0) return "None";
  const labels = names.map((name) => triggers.find(({ value }) => value === name)?.label ?? name);
  return labels.length <= 2 ? labels.join(", ") : `${labels[0]} and ${labels.length - 1} more`;
}

export const destinations = [
  { value: "generic", label: "Webhook (JSON)" },
  { value: "slack", label: "Slack" },
  { value: "microsoft-teams", label: "Microsoft Teams" },
  { value: "email", label: "Email" },
] as const;
export type Destination = (typeof destinations)[number]["value"];

export const destinationWords = (value: string): string =>
  destinations.find((one) => one.value === value)?.label ?? value;
