/** Operations on invitations. */
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { attributeFault, conflict, type Fault, forbidden, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { invitationHash } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import {
  activateInvitations,
  lockOrganizations,
  acceptMembershipInvitation,
} from "../organization-memberships/writes.ts";
import { authorizeSignIn } from "../sessions/rules.ts";
import { passwordFaults } from "../sessions/password-strength.ts";
import { startSession, type NewPassword, hashNewPassword, setPassword } from "../sessions/writes.ts";
import { findUserForUpdate } from "../users/reads.ts";
import { addInvitedUser, newInvitedUser } from "../users/writes.ts";
import { invitations } from "./definition.ts";
import { type AcceptableInvitation, authorizeInvitation, authorizeInvitedUser, toInvitationView } from "./rules.ts";
import { deleteInvitation, findInvitation } from "./store.ts";
import { createInvitation } from "./writes.ts";

export const invitationResource = implement(invitations, {
  async showInvitation({ context, params }) {
    return { view: toInvitationView(await loadInvitation(context, params.invitationSecret)) };
  },

  async registerByInvitation({ context, params, body }) {
    const { username, password: chosen } = body.attributes;
    const invitation = await loadInvitation(context, params.invitationSecret);
    const hash = invitationHash(params.invitationSecret);
    throwIfInvalid(usernameFaults(invitation, username));
    // After the link was checked, because hashing is expensive.
    const password = await hashNewPassword(chosen);
    const user = await context.database.write((tx) =>
      invitation.userId === null
        ? registerUser(tx, context, { invitation, hash, username: username ?? "", password })
        : setPasswordByLink(tx, context, { invitation, hash, userId: invitation.userId, password }),
    );
    context.signIns?.recordSuccess(user.username);
    return { view: await startSession(context, authorizeSignIn(user, true)) };
  },

  async acceptInvitation({ context, params }) {
    const { actor, database } = context;
    const { membershipId } = await loadInvitation(context, params.invitationSecret);
    if (actor.kind !== "user") throw forbidden("Only users can accept an invitation. Sign in, or use a user's token.");
    if (membershipId === null)
      throw conflict(
        "This link sets a user's password and can't be accepted. Send the password to its 'register' action instead.",
      );
    return database.write(async (tx) => {
      const locked = await lockOrganizations(tx, { membershipId });
      const user = await findUserForUpdate(tx, actor.userId);
      if (user === undefined) throw notFound("user");
      const invitation = authorizeInvitation(await findInvitation(tx, invitationHash(params.invitationSecret)));
      const view = await acceptMembershipInvitation(tx, context, invitation, user, locked);
      await deleteInvitation(tx, invitation);
      return { view };
    });
  },

  async createUserInvitation({ context, params }) {
    const administration = requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const user = await findUserForUpdate(tx, params.userId);
      if (user === undefined) throw notFound("user");
      const destination = { organizationId: null, membershipId: null, userId: user.id };
      const created = await createInvitation(tx, context, withSiteAdminProof(administration, user), destination);
      const { id, url, expiresAt } = created;
      const subject = { type: invitations.type, id };
      const after = { user: user.id, "expires-at": expiresAt };
      await recordEvent(tx, context, { organizationId: null, verb: "create", subject, after });
      const { email, username } = user;
      return { view: { ...created, organizationName: undefined, email, username, hasPassword: false, url } };
    });
  },
});

function usernameFaults({ userId, username }: AcceptableInvitation, chosen: string | null | undefined): Fault[] {
  if (userId === null) return chosen == null ? [attributeFault("username", "Username can't be blank")] : [];
  return chosen == null || fold(chosen) === fold(username ?? "")
    ? []
    : [attributeFault("username", `Username can't be changed: this link only sets the password of '${username}'`)];
}

async function loadInvitation({ database, signIns }: Context, secret: string): Promise<AcceptableInvitation> {
  signIns?.check();
  const found = await findInvitation(database.reader, invitationHash(secret));
  if (found === undefined) signIns?.recordFailure();
  return authorizeInvitation(found);
}

const invitedActor = ({ id }: AcceptableInvitation, user: UserTable): Actor => ({
  kind: "user",
  userId: user.id,
  name: user.username,
  siteAdmin: user.isSiteAdmin === 1,
  tokenId: id,
  tokenAgeMs: 0,
});

interface InvitationUse {
  readonly invitation: AcceptableInvitation;
  readonly hash: string;
  readonly password: NewPassword;
}

async function registerUser(
  tx: Tx,
  context: Context,
  {
    invitation: { email, membershipId, confirmsEmail },
    hash,
    username,
    password,
  }: InvitationUse & { readonly username: string },
): Promise<UserTable> {
  const isConfirmed = confirmsEmail === 1;
  const locked = await lockOrganizations(
    tx,
    isConfirmed ? { emailKey: fold(email) } : { membershipId: membershipId ?? "" },
  );
  // Read again under the lock.
  const invitation = authorizeInvitation(await findInvitation(tx, hash));
  if (invitation.holderId !== null)
    throw conflict("A user with this email address already exists. Sign in as that user, then accept the invitation.");
  const user = newInvitedUser({ username, email: invitation.email }, isConfirmed ? null : invitation.organizationId);
  const asUser = { ...context, actor: invitedActor(invitation, user) };
  await addInvitedUser(tx, asUser, invitation, user, passwordFaults(password.password, user));
  if (isConfirmed) await activateInvitations(tx, asUser, user, locked, { acceptedIn: invitation.organizationId });
  else await acceptMembershipInvitation(tx, asUser, invitation, user, locked);
  await setPassword(tx, asUser, authorizeInvitedUser(invitation, user), password);
  await deleteInvitation(tx, invitation);
  return user;
}

async function setPasswordByLink(
  tx: Tx,
  context: Context,
  { hash, userId, password }: InvitationUse & { readonly userId: string },
): Promise<UserTable> {
  const user = await findUserForUpdate(tx, userId);
  const invitation = authorizeInvitation(await findInvitation(tx, hash));
  if (user === undefined) throw notFound("user");
  await setPassword(
    tx,
    { ...context, actor: invitedActor(invitation, user) },
    authorizeInvitedUser(invitation, user),
    password,
  );
  await deleteInvitation(tx, invitation);
  return user;
}
