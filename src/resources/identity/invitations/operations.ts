/** Operations on invitations: using a link, and creating one as a site admin. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { attributeFault, conflict, type Fault, forbidden, notFound, refuseIfAny } from "../../../kernel/errors.ts";
import { invitationHash } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { administered, requireSiteAdmin } from "../../shared/administration.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { activateInvitations, holdOrganizations, takeInvitation } from "../organization-memberships/writes.ts";
import { signedIn } from "../sessions/rules.ts";
import { passwordFaults } from "../sessions/strength.ts";
import { beginSession, type NewPassword, newPasswordOf, setPassword } from "../sessions/writes.ts";
import { holdUser } from "../users/reads.ts";
import { addInvitedUser, newInvitedUser } from "../users/writes.ts";
import { invitations } from "./definition.ts";
import { type Accepted, accepted, invitedUser, shownInvitation } from "./rules.ts";
import { deleteInvitation, findInvitation } from "./store.ts";
import { makeInvitation } from "./writes.ts";

export const invitationResource = implement(invitations, {
  async showInvitation({ context, params }) {
    return { view: shownInvitation(await opened(context, params.invitationSecret)) };
  },

  async registerByInvitation({ context, params, body }) {
    const { username, password: chosen } = body.attributes;
    const invitation = await opened(context, params.invitationSecret);
    const hash = invitationHash(params.invitationSecret);
    refuseIfAny(usernameFaults(invitation, username));
    // Hashed only after the link was checked, because hashing is expensive.
    const password = await newPasswordOf(chosen);
    const user = await context.database.write((tx) =>
      invitation.userId === null
        ? register(tx, context, { invitation, hash, username: username ?? "", password })
        : setPasswordByLink(tx, context, { invitation, hash, userId: invitation.userId, password }),
    );
    context.signIns?.succeeded(user.username);
    return { view: await beginSession(context, signedIn(user, true)) };
  },

  async acceptInvitation({ context, params }) {
    const { actor, database } = context;
    const { membershipId } = await opened(context, params.invitationSecret);
    if (actor.kind !== "user") throw forbidden("Only users can accept an invitation. Sign in, or use a user's token.");
    if (membershipId === null)
      throw conflict(
        "This link sets a user's password and can't be accepted. Send the password to its 'register' action instead.",
      );
    return database.write(async (tx) => {
      const locked = await holdOrganizations(tx, { membershipId });
      const user = await holdUser(tx, actor.userId);
      if (user === undefined) throw notFound("user");
      const invitation = accepted(await findInvitation(tx, invitationHash(params.invitationSecret)));
      const view = await takeInvitation(tx, context, invitation, user, locked);
      await deleteInvitation(tx, invitation);
      return { view };
    });
  },

  async createUserInvitation({ context, params }) {
    const administration = requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const user = await holdUser(tx, params.userId);
      if (user === undefined) throw notFound("user");
      const destination = { organizationId: null, membershipId: null, userId: user.id };
      const created = await makeInvitation(tx, context, administered(administration, user), destination);
      const { id, url, expiresAt } = created;
      const subject = { type: invitations.type, id };
      const after = { user: user.id, "expires-at": expiresAt };
      await recordEvent(tx, context, { organizationId: null, verb: "create", subject, after });
      const { email, username } = user;
      return { view: { ...created, organizationName: undefined, email, username, hasPassword: false, url } };
    });
  },
});

function usernameFaults({ userId, username }: Accepted, chosen: string | null | undefined): Fault[] {
  if (userId === null) return chosen == null ? [attributeFault("username", "Username can't be blank")] : [];
  return chosen == null || fold(chosen) === fold(username ?? "")
    ? []
    : [attributeFault("username", `Username can't be changed: this link only sets the password of '${username}'`)];
}

async function opened({ database, signIns }: Context, secret: string): Promise<Accepted> {
  signIns?.check();
  const found = await findInvitation(database.reader, invitationHash(secret));
  if (found === undefined) signIns?.failed();
  return accepted(found);
}

/** The audit log identifies the caller by the invitation. */
const comingBy = ({ id }: Accepted, user: UserTable): Actor => ({
  kind: "user",
  userId: user.id,
  name: user.username,
  siteAdmin: user.isSiteAdmin === 1,
  tokenId: id,
  tokenAgeMs: 0,
});

interface Coming {
  readonly invitation: Accepted;
  readonly hash: string;
  readonly password: NewPassword;
}

async function register(
  tx: Tx,
  context: Context,
  {
    invitation: { email, membershipId, confirmsEmail },
    hash,
    username,
    password,
  }: Coming & { readonly username: string },
): Promise<UserTable> {
  const isConfirmed = confirmsEmail === 1;
  const locked = await holdOrganizations(
    tx,
    isConfirmed ? { emailKey: fold(email) } : { membershipId: membershipId ?? "" },
  );
  // Read again, now that no concurrent request can use it.
  const invitation = accepted(await findInvitation(tx, hash));
  if (invitation.holderId !== null)
    throw conflict("A user with this email address already exists. Sign in as that user, then accept the invitation.");
  const user = newInvitedUser({ username, email: invitation.email }, isConfirmed ? null : invitation.organizationId);
  const asUser = { ...context, actor: comingBy(invitation, user) };
  await addInvitedUser(tx, asUser, invitation, user, passwordFaults(password.password, user));
  if (isConfirmed) await activateInvitations(tx, asUser, user, locked);
  else await takeInvitation(tx, asUser, invitation, user, locked);
  await setPassword(tx, asUser, invitedUser(invitation, user), password);
  await deleteInvitation(tx, invitation);
  return user;
}

async function setPasswordByLink(
  tx: Tx,
  context: Context,
  { hash, userId, password }: Coming & { readonly userId: string },
): Promise<UserTable> {
  const user = await holdUser(tx, userId);
  const invitation = accepted(await findInvitation(tx, hash));
  if (user === undefined) throw notFound("user");
  await setPassword(tx, { ...context, actor: comingBy(invitation, user) }, invitedUser(invitation, user), password);
  await deleteInvitation(tx, invitation);
  return user;
}
