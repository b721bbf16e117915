/** Notifications that other modules trigger in the transaction of the event, and recipients of merged invitations. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { enqueueForSubscribers } from "../../shared/outbox/writes.ts";
import type { TriggerEvent } from "./triggers.ts";
import { subscribersTo } from "./store.ts";

export const notificationKind = "notification";

export interface WorkspaceNotification {
  readonly workspaceId: string;
  readonly happening: TriggerEvent;
  readonly onceKey?: string;
}

export async function notifySubscribers(
  tx: Tx,
  context: Pick<Context, "wake">,
  announcements: readonly WorkspaceNotification[],
): Promise<number> {
  if (announcements.length === 0) return 0;
  const ids = [...new Set(announcements.map(({ workspaceId }) => workspaceId))];
  const occurrences = announcements.map(({ workspaceId, happening, onceKey }) => ({
    thingId: workspaceId,
    eventName: happening.trigger,
    content: { ...happening, workspaceId },
    onceKey,
  }));
  return enqueueForSubscribers(tx, context, notificationKind, subscribersTo(tx.dialect, ids), occurrences);
}

export async function mergeInvitedRecipients(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void> {
  await sql`
    insert into notification_configuration_members (organization_id, notification_configuration_id, membership_id)
    select named.organization_id, named.notification_configuration_id, own.id
    from notification_configuration_members as named
    inner join organization_memberships as own
      on own.organization_id = named.organization_id and own.user_id = ${userId}
    where ${tx.dialect.isOneOf(sql.ref("named.membership_id"), invitationIds)}
    on conflict do nothing`.execute(tx.db);
}
