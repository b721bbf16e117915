/** What rooms above have told of what happens in workspaces, in the transaction of what happened. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { postToSubscribers } from "../../shared/outbox/writes.ts";
import type { Happening } from "./happenings.ts";
import { subscribersTo } from "./store.ts";

/** Notices of this kind are carried by `notificationCourier`. */
export const notificationKind = "notification";

export interface Announcement {
  readonly workspaceId: string;
  readonly happening: Happening;
  /** For what is found again and again and told once: what tells it from others. */
  readonly onceKey?: string;
}

/** One statement, however many happenings there are, and however many are told. Gives how many are. */
export async function announce(
  tx: Tx,
  context: Pick<Context, "wake">,
  announcements: readonly Announcement[],
): Promise<number> {
  if (announcements.length === 0) return 0;
  const ids = [...new Set(announcements.map(({ workspaceId }) => workspaceId))];
  const occurrences = announcements.map(({ workspaceId, happening, onceKey }) => ({
    thingId: workspaceId,
    eventName: happening.trigger,
    content: { ...happening, workspaceId },
    onceKey,
  }));
  return postToSubscribers(tx, context, notificationKind, subscribersTo(tx.dialect, ids), occurrences);
}
