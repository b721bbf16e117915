/** Mails a link to whoever is invited by it. The link is sealed until then, and gone afterwards. */
import type { Tx } from "../../../database/database.ts";
import type { InvitationTable } from "../../../database/schema/identity.ts";
import type { Context } from "../../shared/context.ts";
import type { Courier } from "../../shared/outbox/delivery.ts";
import { mailNotice } from "../../shared/outbox/mail.ts";
import { openedSecret, post } from "../../shared/outbox/writes.ts";
import type { OpenInvitation } from "./rules.ts";
import { findInvitationById } from "./store.ts";

/** Notices of this kind are carried by `invitationCourier`. */
export const invitationKind = "invitation";

/** In the transaction that makes the link, where the operator has set a mail server. */
export async function mailInvitation(
  tx: Tx,
  context: Pick<Context, "actor" | "options" | "vault" | "wake">,
  { id, organizationId }: Pick<InvitationTable, "id" | "organizationId">,
  url: string,
): Promise<void> {
  if (context.options.mail === undefined) return;
  const content: Written = { by: context.actor.kind === "user" ? context.actor.name : null };
  const place = { organizationId, kind: invitationKind, subjectId: id, eventName: "invitation", destination: "email" };
  await post(tx, context, [{ ...place, content, secret: url }]);
}

/** A link that works no more is not sent. */
export const invitationCourier: Courier = {
  async deliver({ database, options, vault }, notice) {
    const invitation = await findInvitationById(database.reader, notice.subjectId);
    const url = openedSecret(vault, notice);
    if (invitation === undefined || url === undefined) return "gone";
    const { by } = JSON.parse(notice.content) as Written;
    const mail = invitationMail(invitation, { by, url, publicUrl: options.publicUrl });
    return mailNotice(options, { id: notice.id, to: [invitation.email], ...mail });
  },
};

/** What is known when the link is made; the rest is as it is when the mail is sent. */
export interface Written {
  /** Who invites; null where nobody in particular does. */
  readonly by: string | null;
}

interface Link extends Written {
  readonly url: string;
  readonly publicUrl: string;
}

function invitationMail(
  { organizationName, username, userId, expiresAt }: OpenInvitation,
  { by, url, publicUrl }: Link,
): { subject: string; text: string } {
  const toPassword = userId !== null;
  const subject = toPassword ? "Set your password on Cadastre" : `You are invited to ${organizationName} on Cadastre`;
  const who = by === null ? "You are invited" : `${by} invites you`;
  const what = toPassword
    ? `You can set the password of your user ${username} on Cadastre (${publicUrl}).`
    : `${who} to the organization ${organizationName} on Cadastre (${publicUrl}).`;
  const until = `${expiresAt.slice(0, 16).replace("T", " ")} UTC`;
  const lines = [
    what,
    "",
    `Follow this link to ${toPassword ? "set it" : "come in"}. It works once, until ${until}:`,
    "",
    url,
    "",
    "Whoever has the link can use it: pass it on to nobody. If you do not expect this, do nothing, and nothing happens.",
    "",
  ];
  return { subject, text: lines.join("\n") };
}
