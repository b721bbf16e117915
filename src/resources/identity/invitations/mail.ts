/** What somebody who is invited reads. Pure. */
import type { OpenInvitation } from "./rules.ts";

/** What is known when the link is made; the rest is as it is when the mail is sent. */
export interface Written {
  /** Who invites; null where nobody in particular does. */
  readonly by: string | null;
}

interface Link extends Written {
  readonly url: string;
  readonly publicUrl: string;
}

export function invitationMail(
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
