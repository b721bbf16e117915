/** Sends notifications to destinations, and verifies destinations. */
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";
import { AppError, attributeFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import {
  type NotificationSender,
  type DeliveryResponse,
  type Verification,
  verificationEvent,
} from "../../shared/outbox/delivery.ts";
import { sendMailNotification } from "../../shared/outbox/mail.ts";
import { verificationErrorOf, sendWebhook } from "../../shared/outbox/webhook.ts";
import { mailOf, payloadOf, type NotificationOrigin, slackMessageOf, teamsMessageOf } from "./messages.ts";
import { tokenOwner, urlOwner } from "./rules.ts";
import { findConfiguration, findRecipients, recordLastDelivery } from "./store.ts";
import type { NotificationEvent } from "./triggers.ts";

export interface NotificationDestination {
  readonly id: string;
  readonly name: string;
  readonly destinationType: string;
  readonly url: string | null;
  readonly token: string | null;
  readonly recipients: readonly string[];
}

type SendContext = Pick<Context, "options">;

/** Makes one attempt. Doesn't raise: an unreachable destination is a failed attempt. */
async function send(
  { options }: SendContext,
  destination: NotificationDestination,
  event: NotificationEvent,
  deliveryId: string,
): Promise<DeliveryResponse> {
  const { id, name, destinationType, url } = destination;
  const origin = { configurationId: id, configurationName: name, publicUrl: options.publicUrl };
  if (destinationType === "email")
    return sendMailNotification(options, { id: deliveryId, to: destination.recipients, ...mailOf(origin, event) });
  const body = bodyOf(destinationType, origin, event);
  const token = destinationType === "generic" ? destination.token : null;
  return sendWebhook(options, { url: url ?? "", token, id: deliveryId, eventName: event.trigger, body });
}

function bodyOf(destinationType: string, origin: NotificationOrigin, event: NotificationEvent): object {
  if (destinationType === "slack") return slackMessageOf(origin, event);
  return destinationType === "microsoft-teams" ? teamsMessageOf(origin, event) : payloadOf(origin, event);
}

const decrypt = (vault: Vault, owner: string, encrypted: Uint8Array | null): string | null =>
  encrypted === null ? null : Buffer.from(vault.open(owner, encrypted)).toString("utf8");

export const decryptUrl = (vault: Vault, row: Pick<NotificationConfigurationTable, "id" | "url">): string | null =>
  decrypt(vault, urlOwner(row.id), row.url);
export const decryptToken = (vault: Vault, row: Pick<NotificationConfigurationTable, "id" | "token">): string | null =>
  decrypt(vault, tokenOwner(row.id), row.token);

/** Sends events that happened before the configuration was disabled, but none after it was deleted. */
export const notificationSender: NotificationSender = {
  async deliver(context, notification) {
    const tx = context.database.reader;
    const row = await findConfiguration(tx, notification.subjectId);
    if (row === undefined) return "gone";
    const isMail = row.destinationType === "email";
    const addresses = JSON.parse(row.emailAddresses) as string[];
    const destination = {
      id: row.id,
      name: row.name,
      destinationType: row.destinationType,
      url: decryptUrl(context.vault, row),
      token: decryptToken(context.vault, row),
      recipients: isMail ? [...new Set([...addresses, ...(await findRecipients(tx, row.id))])] : [],
    };
    const [organizationName = "", workspaceName = ""] = (notification.place ?? "").split("/");
    const event = { ...(JSON.parse(notification.content) as NotificationEvent), organizationName, workspaceName };
    return send(context, destination, event, notification.id);
  },
  onAttempt: (tx, by, notification, response) =>
    recordLastDelivery(tx, by, notification.subjectId, JSON.stringify(response)),
};

/** Throws `bad-request` if the verification fails. */
export async function verify(context: Context, destination: NotificationDestination): Promise<Verification> {
  const event = { about: "verification", trigger: verificationEvent } as const;
  const id = newId("deliveries");
  const response = await send(context, destination, event, id);
  if (response.successful === "true") return { id, response };
  const detail = verificationErrorOf(response);
  throw new AppError("bad-request", [
    destination.destinationType === "email" ? { detail } : attributeFault("url", detail),
  ]);
}
