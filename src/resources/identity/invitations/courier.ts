/** Mails a link to whoever is invited by it. The link is sealed until then, and gone afterwards. */
import type { Tx } from "../../../database/database.ts";
import type { InvitationTable } from "../../../database/schema/identity.ts";
import type { Context } from "../../shared/context.ts";
import type { Courier } from "../../shared/outbox/delivery.ts";
import { mailNotice } from "../../shared/outbox/mail.ts";
import { openedSecret } from "../../shared/outbox/secrets.ts";
import { post } from "../../shared/outbox/writes.ts";
import { invitationMail, type Written } from "./mail.ts";
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
