/** Notifications that other modules trigger in the transaction of the event, and recipients of merged invitations. */
import { type RawBuilder, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { enqueueForSubscribers } from "../../shared/outbox/writes.ts";
import type { AccessRequestTriggerEvent, TriggerEvent } from "./triggers.ts";
import { subscribersOfTeams, subscribersTo } from "./store.ts";

export const notificationKind = "notification";

export interface WorkspaceNotification {
  readonly workspaceId: string;
  readonly event: TriggerEvent;
  readonly onceKey?: string;
}

export async function notifySubscribers(
  tx: Tx,
  context: Pick<Context, "wake">,
  notifications: readonly WorkspaceNotification[],
): Promise<number> {
  if (notifications.length === 0) return 0;
  const ids = [...new Set(notifications.map(({ workspaceId }) => workspaceId))];
  const events = notifications.map((notification) => ({
    resourceId: notification.workspaceId,
    eventName: notification.event.trigger,
    content: { ...notification.event, workspaceId: notification.workspaceId },
    onceKey: notification.onceKey,
  }));
  return enqueueForSubscribers(tx, context, notificationKind, subscribersTo(tx.dialect, ids), events);
}

/** `teamIds`: a subquery with the teams whose own configurations are notified. */
export async function notifyTeams(
  tx: Tx,
  context: Pick<Context, "wake">,
  organization: { readonly organizationId: string; readonly organizationName: string },
  teamIds: RawBuilder<string>,
  event: AccessRequestTriggerEvent,
): Promise<number> {
  const { requestId, trigger: eventName } = event;
  const subscribers = subscribersOfTeams(tx.dialect, { ...organization, requestId, eventName }, teamIds);
  const events = [{ resourceId: requestId, eventName, content: event }];
  return enqueueForSubscribers(tx, context, notificationKind, subscribers, events);
}

export async function mergeInvitedRecipients(tx: Tx, userId: string, invitationIds: readonly string[]): Promise<void> {
  await sql`
    insert into notification_configuration_members (organization_id, notification_configuration_id, membership_id)
    select recipient.organization_id, recipient.notification_configuration_id, own.id
    from notification_configuration_members as recipient
    inner join organization_memberships as own
      on own.organization_id = recipient.organization_id and own.user_id = ${userId}
    where ${tx.dialect.isOneOf(sql.ref("recipient.membership_id"), invitationIds)}
    on conflict do nothing`.execute(tx.db);
}
