/**
 * The outbox: what somebody is to be told is written in the transaction of what happened, so that nothing is told that did not
 * happen and nothing is lost that did. A job delivers it (`delivery.ts`), however long that takes.
 */
import type { RawBuilder } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { NoticeTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";
import { type Verification, verificationEvent } from "./delivery.ts";
import { insertForSubscribers, insertNotices, type KeptNotice, pageOfNotices, type SubscriberRow } from "./store.ts";

export type { SubscriberRow };

/** The job that delivers. */
export const noticesJob = "notices";

export interface Notice {
  /** Null for what concerns the whole register. */
  readonly organizationId: string | null;
  /** Who carries it. */
  readonly kind: string;
  /** What it goes by: the id of a configuration or a webhook. */
  readonly subjectId: string;
  readonly eventName: string;
  /** Who is called, for the limit on how much is delivered to one of them at once. */
  readonly destination: string;
  readonly place?: string;
  /** As it is now: whoever is told learns what happened, and not what became of it. */
  readonly content: object;
  /** What nobody but its receiver may read. */
  readonly secret?: string;
  /** For what is found again and again and told once. */
  readonly onceKey?: string;
}

/** All of them by one statement. Gives how many were new. */
export async function post(
  tx: Tx,
  context: Pick<Context, "wake" | "vault">,
  notices: readonly Notice[],
): Promise<number> {
  const createdAt = now();
  const rows = notices.map(({ content, secret, onceKey = null, place = null, ...notice }) => {
    const id = newId("deliveries");
    return {
      id,
      ...notice,
      content: JSON.stringify(content),
      secret: secret === undefined ? null : sealedSecret(context.vault, id, secret),
      onceKey,
      place,
      response: null,
      createdAt,
    };
  });
  const count = await insertNotices(tx, rows);
  if (count > 0) tx.afterwards?.(() => context.wake?.(noticesJob));
  return count;
}

/** Somebody was asked whether they listen, and does: that is kept beside what they are told. */
export async function noteVerification(
  tx: Tx,
  by: Pick<Notice, "organizationId" | "kind" | "subjectId" | "destination">,
  { id, response }: Verification,
): Promise<void> {
  const unsaid = { place: null, content: "{}", secret: null, onceKey: null };
  const row = { id, ...by, ...unsaid, eventName: verificationEvent, response: JSON.stringify(response) };
  await insertNotices(tx, [{ ...row, createdAt: response["sent-at"] }]);
}

/** Something happened to a thing. */
export interface Occurrence {
  readonly thingId: string;
  readonly eventName: string;
  readonly content: object;
  /** For what is found again and again and told once. */
  readonly onceKey?: string | undefined;
}

/** The same for everyone who has subscribed: found, and told, by one statement. */
export async function postToSubscribers(
  tx: Tx,
  context: Pick<Context, "wake">,
  kind: string,
  subscribers: RawBuilder<SubscriberRow>,
  occurrences: readonly Occurrence[],
): Promise<number> {
  if (occurrences.length === 0) return 0;
  const rows = occurrences.map(({ content, onceKey = null, ...occurrence }) => ({
    id: newId("deliveries"),
    ...occurrence,
    content: JSON.stringify(content),
    onceKey,
  }));
  const count = await insertForSubscribers(tx, kind, subscribers, { occurrences: rows, createdAt: now() });
  if (count > 0) tx.afterwards?.(() => context.wake?.(noticesJob));
  return count;
}

export async function pageOfDeliveries(
  tx: Tx,
  by: { readonly organizationId: string; readonly id: string },
  page: Page,
): Promise<{ views: KeptNotice[]; totalCount: number }> {
  const { rows, totalCount } = await pageOfNotices(tx, by, page);
  return { views: rows, totalCount };
}

const owner = (id: string): string => `notices/${id}/secret`;

const sealedSecret = (vault: Vault, id: string, secret: string): Uint8Array =>
  vault.seal(owner(id), Buffer.from(secret));

/** Undefined where it carries none. */
export const openedSecret = (vault: Vault, { id, secret }: Pick<NoticeTable, "id" | "secret">): string | undefined =>
  secret === null ? undefined : Buffer.from(vault.open(owner(id), secret)).toString("utf8");
