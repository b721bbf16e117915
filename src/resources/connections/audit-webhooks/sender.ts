/** Sends audit events to webhooks, and verifies webhook addresses. */
import type { AuditWebhookTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";
import { AppError, attributeFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { type NotificationSender, type Verification, verificationEvent } from "../../shared/outbox/delivery.ts";
import { verificationErrorOf, sendWebhook } from "../../shared/outbox/webhook.ts";
import { tokenOwner, urlOwner } from "./rules.ts";
import { findWebhookToCall, recordLastDelivery } from "./store.ts";

export const auditWebhookKind = "audit-webhook";

export const decryptUrl = (vault: Vault, { id, url }: Pick<AuditWebhookTable, "id" | "url">): string =>
  Buffer.from(vault.open(urlOwner(id), url)).toString("utf8");
export const decryptToken = (vault: Vault, { id, token }: Pick<AuditWebhookTable, "id" | "token">): string | null =>
  token === null ? null : Buffer.from(vault.open(tokenOwner(id), token)).toString("utf8");

export const auditWebhookSender: NotificationSender = {
  async deliver(context, notification) {
    const row = await findWebhookToCall(context.database.reader, notification.subjectId);
    if (row === undefined) return "gone";
    const [url, token] = [decryptUrl(context.vault, row), decryptToken(context.vault, row)];
    const body = { payload_version: 1, delivery_id: notification.id, ...(JSON.parse(notification.content) as object) };
    return sendWebhook(context.options, { url, token, id: notification.id, eventName: notification.eventName, body });
  },
  onAttempt: (tx, by, notification, response) =>
    recordLastDelivery(tx, by, notification.subjectId, JSON.stringify(response)),
};

interface WebhookVerificationRequest {
  readonly id: string;
  readonly organizationName: string;
  readonly url: string;
  readonly token: string | null;
}

/** Throws `bad-request` if the test event fails. */
export async function verify({ options }: Context, request: WebhookVerificationRequest): Promise<Verification> {
  const { id: webhookId, organizationName, url, token } = request;
  const [id, eventName] = [newId("deliveries"), verificationEvent];
  const body = {
    payload_version: 1,
    delivery_id: id,
    audit_webhook_id: webhookId,
    organization_name: organizationName,
    event: eventName,
  };
  const response = await sendWebhook(options, { url, token, id, eventName, body });
  if (response.successful === "true") return { id, response };
  throw new AppError("bad-request", [attributeFault("url", verificationErrorOf(response))]);
}
