/** Brings what happened to those who have subscribed, and asks whether they listen. */
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import type { Vault } from "../../../database/vault.ts";
import { AppError, attributeFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import {
  type Courier,
  type DeliveryResponse,
  type Verification,
  verificationEvent,
} from "../../shared/outbox/delivery.ts";
import { mailNotice } from "../../shared/outbox/mail.ts";
import { refusalOf, sendWebhook } from "../../shared/outbox/webhook.ts";
import { mailOf, payloadOf, type Sender, slackMessageOf, teamsMessageOf } from "./messages.ts";
import { tokenOwner, urlOwner } from "./rules.ts";
import { findConfiguration, findRecipients, noteDelivery } from "./store.ts";
import type { Told } from "./triggers.ts";

/** Where to, opened. */
export interface Destination {
  readonly id: string;
  readonly name: string;
  readonly destinationType: string;
  readonly url: string | null;
  readonly token: string | null;
  readonly recipients: readonly string[];
}

type Sending = Pick<Context, "options">;

/** One attempt. Raises nothing: who can't be reached has not answered. */
async function tell(
  { options }: Sending,
  destination: Destination,
  told: Told,
  deliveryId: string,
): Promise<DeliveryResponse> {
  const { id, name, destinationType, url } = destination;
  const sender = { configurationId: id, configurationName: name, publicUrl: options.publicUrl };
  if (destinationType === "email")
    return mailNotice(options, { id: deliveryId, to: destination.recipients, ...mailOf(sender, told) });
  const body = bodyOf(destinationType, sender, told);
  const token = destinationType === "generic" ? destination.token : null;
  return sendWebhook(options, { url: url ?? "", token, id: deliveryId, eventName: told.trigger, body });
}

function bodyOf(destinationType: string, sender: Sender, told: Told): object {
  if (destinationType === "slack") return slackMessageOf(sender, told);
  return destinationType === "microsoft-teams" ? teamsMessageOf(sender, told) : payloadOf(sender, told);
}

const opened = (vault: Vault, owner: string, sealed: Uint8Array | null): string | null =>
  sealed === null ? null : Buffer.from(vault.open(owner, sealed)).toString("utf8");

export const openedUrl = (vault: Vault, row: Pick<NotificationConfigurationTable, "id" | "url">): string | null =>
  opened(vault, urlOwner(row.id), row.url);
export const openedToken = (vault: Vault, row: Pick<NotificationConfigurationTable, "id" | "token">): string | null =>
  opened(vault, tokenOwner(row.id), row.token);

/** What was posted while it was enabled is told even if it is not any more: it happened. What was deleted tells nobody. */
export const notificationCourier: Courier = {
  async deliver(context, notice) {
    const tx = context.database.reader;
    const row = await findConfiguration(tx, notice.subjectId);
    if (row === undefined) return "gone";
    const isMail = row.destinationType === "email";
    const addresses = JSON.parse(row.emailAddresses) as string[];
    const destination = {
      id: row.id,
      name: row.name,
      destinationType: row.destinationType,
      url: openedUrl(context.vault, row),
      token: openedToken(context.vault, row),
      recipients: isMail ? [...new Set([...addresses, ...(await findRecipients(tx, row.id))])] : [],
    };
    const [organizationName = "", workspaceName = ""] = (notice.place ?? "").split("/");
    const told = { ...(JSON.parse(notice.content) as Told), organizationName, workspaceName };
    return tell(context, destination, told, notice.id);
  },
  noted: (tx, by, notice, response) => noteDelivery(tx, by, notice.subjectId, JSON.stringify(response)),
};

/** Raises `bad-request` with what was answered, or with why nothing was. */
export async function verify(context: Context, destination: Destination): Promise<Verification> {
  const told = { about: "verification", trigger: verificationEvent } as const;
  const id = newId("deliveries");
  const response = await tell(context, destination, told, id);
  if (response.successful === "true") return { id, response };
  const detail = refusalOf(response);
  throw new AppError("bad-request", [
    destination.destinationType === "email" ? { detail } : attributeFault("url", detail),
  ]);
}
