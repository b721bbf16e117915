/** Sends invitation links by mail. A link is stored encrypted until it is sent, then deleted. */
import type { Tx } from "../../../database/database.ts";
import type { InvitationTable } from "../../../database/schema/identity.ts";
import type { Context } from "../../shared/context.ts";
import type { NotificationSender } from "../../shared/outbox/delivery.ts";
import { sendMailNotification } from "../../shared/outbox/mail.ts";
import { decryptSecret, enqueueNotifications } from "../../shared/outbox/writes.ts";
import type { OpenInvitation } from "./rules.ts";
import { findInvitationById } from "./store.ts";

export const invitationKind = "invitation";

/** Call in the transaction that creates the link. Does nothing without a mail server. */
export async function mailInvitation(
  tx: Tx,
  context: Pick<Context, "actor" | "options" | "vault" | "wake">,
  { id, organizationId }: Pick<InvitationTable, "id" | "organizationId">,
  url: string,
): Promise<void> {
  if (context.options.mail === undefined) return;
  const content: InvitationMailContent = { by: context.actor.kind === "user" ? context.actor.name : null };
  const notification = {
    organizationId,
    kind: invitationKind,
    subjectId: id,
    eventName: "invitation",
    destination: "email",
  };
  await enqueueNotifications(tx, context, [{ ...notification, content, secret: url }]);
}

export const invitationSender: NotificationSender = {
  async deliver({ database, options, vault }, notification) {
    const invitation = await findInvitationById(database.reader, notification.subjectId);
    const url = decryptSecret(vault, notification);
    if (invitation === undefined || url === undefined) return "gone";
    const { by } = JSON.parse(notification.content) as InvitationMailContent;
    const mail = invitationMail(invitation, { by, url, publicUrl: options.publicUrl });
    return sendMailNotification(options, { id: notification.id, to: [invitation.email], ...mail });
  },
};

export interface InvitationMailContent {
  readonly by: string | null;
}

interface InvitationMailInput extends InvitationMailContent {
  readonly url: string;
  readonly publicUrl: string;
}

function invitationMail(
  { organizationName, username, userId, expiresAt }: OpenInvitation,
  { by, url, publicUrl }: InvitationMailInput,
): { subject: string; text: string } {
  const setsPassword = userId !== null;
  const subject = setsPassword ? "Set your password on Cadastre" : `Invitation to ${organizationName} on Cadastre`;
  const invitation = by === null ? "You have been invited" : `${by} has invited you`;
  const introduction = setsPassword
    ? `You can set the password of your account ${username} on Cadastre (${publicUrl}).`
    : `${invitation} to join the organization ${organizationName} on Cadastre (${publicUrl}).`;
  const until = `${expiresAt.slice(0, 16).replace("T", " ")} UTC`;
  const lines = [
    introduction,
    "",
    `Use this link to ${setsPassword ? "set your password" : "accept the invitation"}. It can be used once and expires on ${until}:`,
    "",
    url,
    "",
    "Anyone who has this link can use it, so don't share it. If you didn't expect this email, you can ignore it.",
    "",
  ];
  return { subject, text: lines.join("\n") };
}
