/** What neighbours have done with invitations: those who make members, and the job that tidies up. */
import { isSiteAdmin } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { newToken } from "../../../kernel/ids.ts";
import type { Context } from "../../shared/context.ts";
import { type Destination, invitationUrl, newInvitation } from "./rules.ts";
import { deleteInvitationTo, insertInvitation, type Inviter } from "./store.ts";

export { deleteEndedInvitations as removeEndedInvitations } from "./store.ts";

export interface MadeInvitation {
  readonly id: string;
  readonly url: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** The only way to the link is this answer. Whoever holds what it leads to makes it, so there is one at a time. */
export async function makeInvitation(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  by: Inviter,
  destination: Destination,
  { isFirst = false } = {},
): Promise<MadeInvitation> {
  const secret = newToken();
  // A site admin vouches for addresses everywhere (decision 0125); an organization says whom it invites, and no more.
  const row = newInvitation(destination, secret, isSiteAdmin(actor));
  if (!isFirst) await deleteInvitationTo(tx, by, destination);
  await insertInvitation(tx, by, row);
  return { ...row, url: invitationUrl(options, secret) };
}
