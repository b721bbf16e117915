/** Stores notifications in the transaction of their event, so that none is lost or false. It must not deliver: `delivery.ts` does. */
import type { RawBuilder } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { NotificationTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";
import { type Verification, verificationEvent } from "./delivery.ts";
import {
  insertForSubscribers,
  insertNotifications,
  type DeliveryRow,
  listNotificationRows,
  type SubscriberRow,
} from "./store.ts";

export type { SubscriberRow };

export const notificationsJob = "notices";

export interface OutboxNotification {
  readonly organizationId: string | null;
  readonly kind: string;
  readonly subjectId: string;
  readonly eventName: string;
  /** The host, for the limit of parallel deliveries. */
  readonly destination: string;
  readonly place?: string;
  readonly content: object;
  readonly secret?: string;
  /** For events that are detected repeatedly but reported once. */
  readonly onceKey?: string;
}

export async function enqueueNotifications(
  tx: Tx,
  context: Pick<Context, "wake" | "vault">,
  notifications: readonly OutboxNotification[],
): Promise<number> {
  const createdAt = now();
  const rows = notifications.map(({ content, secret, onceKey = null, place = null, ...notification }) => {
    const id = newId("deliveries");
    return {
      id,
      ...notification,
      content: JSON.stringify(content),
      secret: secret === undefined ? null : encryptSecret(context.vault, id, secret),
      onceKey,
      place,
      response: null,
      createdAt,
    };
  });
  const count = await insertNotifications(tx, rows);
  if (count > 0) tx.afterCommit?.(() => context.wake?.(notificationsJob));
  return count;
}

export async function recordVerification(
  tx: Tx,
  by: Pick<OutboxNotification, "organizationId" | "kind" | "subjectId" | "destination">,
  { id, response }: Verification,
): Promise<void> {
  const unused = { place: null, content: "{}", secret: null, onceKey: null };
  const row = { id, ...by, ...unused, eventName: verificationEvent, response: JSON.stringify(response) };
  await insertNotifications(tx, [{ ...row, createdAt: response["sent-at"] }]);
}

export interface OutboxEvent {
  readonly resourceId: string;
  readonly eventName: string;
  readonly content: object;
  readonly onceKey?: string | undefined;
}

export async function enqueueForSubscribers(
  tx: Tx,
  context: Pick<Context, "wake">,
  kind: string,
  subscribers: RawBuilder<SubscriberRow>,
  events: readonly OutboxEvent[],
): Promise<number> {
  if (events.length === 0) return 0;
  const rows = events.map(({ content, onceKey = null, ...event }) => ({
    id: newId("deliveries"),
    ...event,
    content: JSON.stringify(content),
    onceKey,
  }));
  const count = await insertForSubscribers(tx, kind, subscribers, { events: rows, createdAt: now() });
  if (count > 0) tx.afterCommit?.(() => context.wake?.(notificationsJob));
  return count;
}

export async function listDeliveries(
  tx: Tx,
  by: { readonly organizationId: string; readonly id: string },
  page: Page,
): Promise<{ views: DeliveryRow[]; totalCount: number }> {
  const { rows, totalCount } = await listNotificationRows(tx, by, page);
  return { views: rows, totalCount };
}

const secretOwner = (id: string): string => `notices/${id}/secret`;

const encryptSecret = (vault: Vault, id: string, secret: string): Uint8Array =>
  vault.seal(secretOwner(id), Buffer.from(secret));

export const decryptSecret = (
  vault: Vault,
  { id, secret }: Pick<NotificationTable, "id" | "secret">,
): string | undefined =>
  secret === null ? undefined : Buffer.from(vault.open(secretOwner(id), secret)).toString("utf8");
