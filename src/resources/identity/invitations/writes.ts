/** What neighbours have done with invitations: those who make members, and the job that tidies up. */
import { actorId, isSiteAdmin } from "../../../access/actor.ts";
import { credentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { newToken } from "../../../kernel/ids.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { mailInvitation } from "./courier.ts";
import { type Destination, invitationUrl, newInvitation } from "./rules.ts";
import { deleteInvitationTo, deleteLinksOfOthers, insertInvitation, type Inviter } from "./store.ts";

export { deleteEndedInvitations as removeEndedInvitations } from "./store.ts";

export interface MadeInvitation {
  readonly id: string;
  readonly url: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/**
 * The link is only in this response, and in mail where the operator sends any. Its creator holds what it leads to, so there is one at a
 * time. Raises `forbidden` for a caller whose own token expires before it.
 */
export async function makeInvitation(
  tx: Tx,
  context: Pick<Context, "actor" | "options" | "vault" | "wake">,
  by: Inviter,
  destination: Destination,
  { isFirst = false } = {},
): Promise<MadeInvitation> {
  const secret = newToken();
  // A site admin vouches for addresses everywhere (decision 0125); an organization says whom it invites, and no more.
  const { actor } = context;
  const row = newInvitation(destination, secret, { confirmsEmail: isSiteAdmin(actor), madeById: actorId(actor) });
  const term = credentialTerm(actor, { thing: "an invitation link", endsAt: row.expiresAt });
  if (!isFirst) await deleteInvitationTo(tx, by, destination);
  await insertInvitation(tx, by, term, row);
  const url = invitationUrl(context.options, secret);
  await mailInvitation(tx, context, row, url);
  return { ...row, url };
}

/**
 * People who are only invited were given a place in a team. Whoever made their links has these, and could follow them into a team that
 * they could not have given: so they end, unless it is the caller who made them, or an owner. See docs/decisions/0126-what-a-link-can-do.md.
 */
export async function endLinksOfOthers(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  team: Granted<{ readonly organizationId: string }, "can-update-membership">,
  membershipIds: readonly string[],
): Promise<void> {
  const ended = await deleteLinksOfOthers(tx, team, membershipIds, actorId(context.actor));
  const { organizationId } = team;
  const events = ended.map((id) => ({
    organizationId,
    verb: "end-invitation",
    subject: { type: "organization-memberships", id },
  }));
  if (events.length > 0) await recordEvents(tx, context, events);
}
