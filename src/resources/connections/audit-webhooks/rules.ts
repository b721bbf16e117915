/** Pure rules of audit webhooks. */
import type { AuditWebhookTable } from "../../../database/schema/notices.ts";
import { changedColumns, createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes, UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { hostOf } from "../../shared/outbox/webhook.ts";
import { auditWebhooks, type AuditWebhookView } from "./definition.ts";

export const urlOwner = (id: string): string => `audit_webhooks/${id}/url`;
export const tokenOwner = (id: string): string => `audit_webhooks/${id}/token`;

type AuditWebhookIdentity = Pick<AuditWebhookTable, "id" | "organizationId" | "createdAt">;

export function newWebhook(
  attributes: CreateAttributes<typeof auditWebhooks>,
  identity: AuditWebhookIdentity,
): Omit<AuditWebhookTable, "url" | "token"> {
  return {
    ...createdColumns(auditWebhooks, attributes),
    ...identity,
    events: listOf(attributes.events),
    destination: hostOf(attributes.url),
    lastDelivery: null,
    updatedAt: identity.createdAt,
    version: 1,
  };
}

export function changedWebhook(
  attributes: UpdateAttributes<typeof auditWebhooks>,
): Partial<Omit<AuditWebhookTable, "url" | "token">> & { readonly decryptedUrl?: string } {
  const { events, url } = attributes;
  return {
    ...changedColumns(auditWebhooks, attributes),
    ...(events !== undefined && { events: listOf(events) }),
    ...(url !== undefined && { decryptedUrl: url, destination: hostOf(url) }),
  };
}

const listOf = (items: readonly string[]): string => JSON.stringify([...new Set(items)]);

export function needsVerification(
  before: AuditWebhookView | undefined,
  after: Pick<AuditWebhookView, "enabled" | "decryptedUrl">,
  token: string | null | undefined,
): boolean {
  if (after.enabled === 0) return false;
  return before?.enabled !== 1 || before.decryptedUrl !== after.decryptedUrl || token !== undefined;
}

export const webhooksMax = 20;
export const nameTaken = (): Fault => attributeFault("name", "Name has already been taken");
export const tooMany = (): Fault => ({
  detail: `The organization has ${webhooksMax} audit webhooks already, and can't have more. Delete one first.`,
  pointer: "/data",
});
