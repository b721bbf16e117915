/** Writes to invitations for other modules and the cleanup job. */
import { actorId, isSiteAdmin } from "../../../access/actor.ts";
import { credentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { newToken } from "../../../kernel/ids.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { mailInvitation } from "./sender.ts";
import { type InvitationTarget, invitationUrl, newInvitation } from "./rules.ts";
import { deleteInvitationTo, deleteInvitationsByOthers, insertInvitation, type InviteProof } from "./store.ts";

export { deleteExpiredInvitations as removeExpiredInvitations } from "./store.ts";

export interface CreatedInvitation {
  readonly id: string;
  readonly url: string;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** Replaces the previous link. Throws `forbidden` if the caller's own token expires before the link. */
export async function createInvitation(
  tx: Tx,
  context: Pick<Context, "actor" | "options" | "vault" | "wake">,
  by: InviteProof,
  destination: InvitationTarget,
  { isFirst = false } = {},
): Promise<CreatedInvitation> {
  const secret = newToken();
  // An address that a site admin invites counts as verified everywhere, others only in their organization (decision 0122).
  const { actor } = context;
  const row = newInvitation(destination, secret, { confirmsEmail: isSiteAdmin(actor), madeById: actorId(actor) });
  const term = credentialTerm(actor, { thing: "an invitation link", endsAt: row.expiresAt });
  if (!isFirst) await deleteInvitationTo(tx, by, destination);
  await insertInvitation(tx, by, term, row);
  const url = invitationUrl(context.options, secret);
  await mailInvitation(tx, context, row, url);
  return { ...row, url };
}

/** Call after adding invited people to a team: the creators of their links could use them to join it. See docs/sign-in.md#invitations. */
export async function revokeInvitationsByOthers(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  team: Granted<{ readonly organizationId: string }, "can-update-membership">,
  membershipIds: readonly string[],
): Promise<void> {
  const revoked = await deleteInvitationsByOthers(tx, team, membershipIds, actorId(context.actor));
  const { organizationId } = team;
  const events = revoked.map((id) => ({
    organizationId,
    verb: "end-invitation",
    subject: { type: "organization-memberships", id },
  }));
  if (events.length > 0) await recordEvents(tx, context, events);
}
