/** Turns queued audit events and long-held locks into notifications. A database trigger queues events when they are recorded. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { type OutboxNotification, enqueueNotifications } from "../../shared/outbox/writes.ts";
import { auditWebhookKind } from "./sender.ts";
import { lockHeldEvent, subscribedEventName } from "./definition.ts";
import {
  deletePendingEvents,
  findLongHeldLocks,
  findSubscribers,
  findPendingEvents,
  type LongHeldLock,
  type AuditWebhookSubscriber,
  type PendingAuditEvent,
} from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

const batch = 200;

export async function enqueueAuditNotifications(job: JobContext): Promise<number> {
  const { context, signal, step } = job;
  let enqueued = 0;
  while (!signal.aborted) {
    const events = await findPendingEvents(context.database.reader, batch);
    if (events.length > 0) enqueued += await step((tx) => enqueueForEvents(tx, job, events));
    if (events.length < batch) break;
  }
  const locks = signal.aborted ? [] : await findLongHeldLocks(context.database.reader, batch);
  if (locks.length > 0) enqueued += await step((tx) => enqueueForLocks(tx, context, locks));
  return enqueued;
}

async function enqueueForEvents(
  tx: Tx,
  { context, capability }: JobContext,
  events: readonly PendingAuditEvent[],
): Promise<number> {
  const subscribers = await findSubscribers(tx, [...new Set(events.map(({ organizationId }) => organizationId))]);
  const notifications = events.flatMap((event) =>
    subscribers
      .filter(({ organizationId }) => organizationId === event.organizationId)
      .flatMap((subscriber) => notificationFor(event, subscriber)),
  );
  await deletePendingEvents(
    tx,
    capability,
    events.map(({ id }) => id),
  );
  return notifications.length === 0 ? 0 : enqueueNotifications(tx, context, notifications);
}

function notificationFor(
  event: PendingAuditEvent,
  { id, organizationId, destination, events }: AuditWebhookSubscriber,
): OutboxNotification[] {
  const eventName = subscribedEventName(JSON.parse(events) as string[], event.action);
  if (eventName === undefined) return [];
  const content = {
    audit_webhook_id: id,
    organization_name: event.organizationName,
    event: eventName,
    audit_event: {
      id: event.id,
      action: event.action,
      actor: { kind: event.actorKind, id: event.actorId, name: event.actorName },
      token_id: event.tokenId,
      subject: { type: event.subjectType, id: event.subjectId },
      before: parsed(event.before),
      after: parsed(event.after),
      request_id: event.requestId,
      access_request_id: event.accessRequestId,
      created_at: event.createdAt,
    },
  };
  // Several servers can run this concurrently; each webhook gets each event once.
  return [
    {
      organizationId,
      kind: auditWebhookKind,
      subjectId: id,
      eventName,
      destination,
      content,
      onceKey: `${id} ${event.id}`,
    },
  ];
}

const parsed = (json: string | null): unknown => (json === null ? null : JSON.parse(json));

async function enqueueForLocks(tx: Tx, context: Context, locks: readonly LongHeldLock[]): Promise<number> {
  const subscribers = await findSubscribers(tx, [...new Set(locks.map(({ organizationId }) => organizationId))]);
  const subscriberIds = new Set(subscribers.map(({ id }) => id));
  const notifications = locks
    .filter(({ webhookId }) => subscriberIds.has(webhookId))
    .map((lock) => ({
      organizationId: lock.organizationId,
      kind: auditWebhookKind,
      subjectId: lock.webhookId,
      eventName: lockHeldEvent,
      destination: lock.destination,
      place: `${lock.organizationName}/${lock.workspaceName}`,
      content: {
        audit_webhook_id: lock.webhookId,
        organization_name: lock.organizationName,
        event: lockHeldEvent,
        lock: {
          workspace_id: lock.workspaceId,
          workspace_name: lock.workspaceName,
          held_by: { type: lock.lockedByType, id: lock.lockedById, name: lock.lockedByName },
          reason: lock.lockedReason,
          locked_at: lock.lockedAt,
          longer_than: lock.longerThan,
        },
      },
      onceKey: `${lock.webhookId} ${lock.workspaceId} ${lock.lockedAt}`,
    }));
  return enqueueNotifications(tx, context, notifications);
}
