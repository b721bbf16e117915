/** The events that webhooks of the audit log can receive, in words. */
import type { Resource } from "../../api/client.ts";
import { auditActions } from "../../api/schema.gen.ts";

export type Webhook = Resource<"audit-webhooks">;

export const lockHeld = "lock.held";

/** What most people want of them; the rest is chosen by the name of its action. */
export const usualEvents: readonly { readonly value: string; readonly label: string; readonly about: string }[] = [
  {
    value: "access.changed",
    label: "Access changes",
    about: "Access grants, teams and their members, memberships, tokens, identity trusts, moves",
  },
  { value: lockHeld, label: "Long-held locks", about: "Locks held by a person or a team; sent once per lock" },
  { value: "*", label: "All events", about: "Every change in the audit log" },
];

const isUsual = (event: string): boolean => usualEvents.some(({ value }) => value === event);
export const othersOf = (events: readonly string[]): string[] => events.filter((event) => !isUsual(event));

const kinds = [...new Set(auditActions.map((action) => action.slice(0, action.indexOf("."))))];

/** All of a kind first, then each action. */
export const otherChoices: readonly string[] = [...kinds.map((kind) => `${kind}.*`), ...auditActions];

export function wordsOf(events: readonly string[]): string {
  const words = events.map((event) => usualEvents.find(({ value }) => value === event)?.label ?? event);
  return words.length <= 3 ? words.join(", ") : `${words.slice(0, 2).join(", ")} and ${words.length - 2} more`;
}
