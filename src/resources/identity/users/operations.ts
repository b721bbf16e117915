/** Operations on users. */
import { type Actor, isInteractiveSession, isSiteAdmin } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { UpdateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, conflict, forbidden, invalid, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { isIdOf } from "../../../kernel/ids.ts";
import { fold } from "../../../kernel/text.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import {
  type LockedOrganizations,
  lockOrganizations,
  moveMembershipsToAddress,
  recordDepartures,
} from "../organization-memberships/writes.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { updateOf } from "../../shared/changes.ts";
import { type ConditionalContext, type Context, implement } from "../../shared/context.ts";
import { decrementCountsForUser } from "../teams/writes.ts";
import { loadPasswordHash } from "../sessions/reads.ts";
import { authorizeSignIn } from "../sessions/rules.ts";
import { passwordFaults } from "../sessions/password-strength.ts";
import { startSession, verifyPassword, type NewPassword, hashNewPassword, setPassword } from "../sessions/writes.ts";
import { users, type UserView } from "./definition.ts";
import { userChangesOf, authorizeUser, serviceAccountView, takenFaults, toUserView } from "./rules.ts";
import { readableUsers } from "./reads.ts";
import {
  deleteUserRow,
  findUser,
  listUserRows,
  type LockedUser,
  lockUser,
  findTakenFields,
  updateUserRow,
} from "./store.ts";
import { addUser } from "./writes.ts";

export const userResource = implement(users, {
  async showAccount({ context }) {
    const { actor } = context;
    if (actor.kind !== "user") return { view: serviceAccountView(actor) };
    return { view: await toAccountView(context, await findUser(context.database.reader, actor.userId)) };
  },

  async updateAccount({ context, body }) {
    const { actor } = context;
    if (actor.kind !== "user")
      throw forbidden("Team tokens and organization tokens have no account to update. Use a user's token.");
    if (body.attributes.password !== undefined)
      throw invalid([
        attributeFault(
          "password",
          "Password can't be changed here; use PATCH /account/password with the current password",
        ),
      ]);
    return context.database.write(async (tx) => ({
      view: await changeUser(tx, context, actor.userId, body.attributes),
    }));
  },

  async changePassword({ context, body }) {
    const { actor } = context;
    if (actor.kind !== "user")
      throw forbidden("Only users have a password, and this token doesn't belong to a user. Use a user's token.");
    const user = await changeOwnPassword(context, actor, body.data.attributes);
    // Changing the password ended all sessions, including the caller's.
    if (isIdOf("sessions", actor.tokenId)) await startSession(context, user);
    return { view: toUserView(actor, user, context.options) };
  },

  async showUser({ context, params }) {
    const [view] = await readableUsers(context.database.reader, context, [params.userId]);
    if (view === undefined) throw notFound("user");
    return { view };
  },

  async listUsers({ context, query }) {
    requireSiteAdmin(context.actor);
    const { rows, totalCount } = await listUserRows(context.database.reader, query.page, query.q);
    return { views: rows.map((row) => toUserView(context.actor, row, context.options)), totalCount };
  },

  async createUser({ context, body }) {
    const administration = requireSiteAdmin(context.actor);
    const password = await hashChosenPassword(body.attributes);
    const user = await context.database.write(async (tx) => {
      const added = await addUser(tx, context, body.attributes);
      if (password !== undefined) await setPassword(tx, context, withSiteAdminProof(administration, added), password);
      return added;
    });
    return { view: toUserView(context.actor, user, context.options) };
  },

  async updateUser({ context, params, body }) {
    requireSiteAdmin(context.actor);
    const password = await hashChosenPassword(body.attributes);
    return context.database.write(async (tx) => ({
      view: await changeUser(tx, context, params.userId, body.attributes, password),
    }));
  },

  async deleteUser({ context, params }) {
    requireSiteAdmin(context.actor);
    return context.database.write(async (tx) => {
      const locked = await lockOrganizations(tx, { userId: params.userId });
      const found = await lockUser(tx, params.userId, { purpose: "removal", withSiteAdmins: true });
      if (found.user === undefined) throw notFound("user");
      const user = authorizeUser(context.actor, found.user, "can-destroy");
      context.ifMatch.check(user);
      if (user.isSiteAdmin) refuseLastSiteAdmin(found);
      await recordDepartures(tx, context, user.id, locked);
      await decrementCountsForUser(tx, user);
      await deleteUserRow(tx, user);
      await recordChange(tx, context, users, { before: toAuditView(context, user) });
    });
  },
});

/** A password outlives a token and works where tokens are refused, so a token can't set a first one. */
const passwordNeedsSignIn = () =>
  forbidden(
    "You have no password yet, and a token can't set one. Sign in through your SSO provider, or ask a site admin for a link to set a password.",
  );

async function changeOwnPassword(
  context: Context,
  { userId: id, name }: Actor & { readonly kind: "user" },
  sent: { readonly current_password: string; readonly password: string; readonly password_confirmation: string },
): Promise<Granted<UserTable, "can-sign-in">> {
  const { database, actor } = context;
  const currentHash = await loadPasswordHash(database.reader, id);
  if (currentHash === undefined && !isInteractiveSession(actor)) throw passwordNeedsSignIn();
  const isCorrect =
    currentHash === undefined || (await verifyPassword(context, name, sent.current_password, async () => currentHash));
  const password = await hashNewPassword(sent.password);
  return database.write(async (tx) => {
    const { user } = await lockUser(tx, id, { purpose: "change", withSiteAdmins: false });
    if (user === undefined) throw notFound("user");
    const isStillCorrect = isCorrect && (await loadPasswordHash(tx, id)) === currentHash;
    throwIfInvalid([
      ...(isStillCorrect ? [] : [attributeFault("current_password", "Current password is incorrect")]),
      ...(sent.password === sent.password_confirmation
        ? []
        : [attributeFault("password_confirmation", "Password confirmation doesn't match the password")]),
      ...passwordFaults(sent.password, user),
    ]);
    await setPassword(tx, context, authorizeUser(actor, user, "can-update"), password);
    return authorizeSignIn(user, true);
  });
}

async function hashChosenPassword({ password }: { readonly password?: string }): Promise<NewPassword | undefined> {
  return password === undefined ? undefined : hashNewPassword(password);
}

async function toAccountView(context: Context, user: UserTable | undefined): Promise<UserView> {
  if (user === undefined) throw notFound("user");
  return toUserView(context.actor, user, context.options);
}

const noOrganizations: LockedOrganizations = new Set();

async function changeUser(
  tx: Tx,
  context: ConditionalContext,
  id: string,
  attributes: UpdateAttributes<typeof users>,
  password?: NewPassword,
): Promise<UserView> {
  const { email } = attributes;
  const locked =
    email === undefined ? noOrganizations : await lockOrganizations(tx, { userId: id, emailKey: fold(email) });
  const found = await lockUser(tx, id, { purpose: "change", withSiteAdmins: attributes.isSiteAdmin === false });
  if (found.user === undefined) throw notFound("user");
  const user = authorizeUser(context.actor, found.user, "can-update");
  context.ifMatch.check(user);
  const { changes, changed } = updateOf<UserTable>(user, userChangesOf(attributes, user, isSiteAdmin(context.actor)));
  if (password !== undefined) await setPassword(tx, context, user, password);
  if (changes === undefined) return toUserView(context.actor, user, context.options);
  if (changes.isSiteAdmin !== undefined && !isSiteAdmin(context.actor))
    throw forbidden("Only site admins can grant or revoke site admin access. Ask a site admin.");
  throwIfInvalid(takenFaults(await findTakenFields(tx, changed)));
  if (changes.isSiteAdmin === 0) refuseLastSiteAdmin(found);
  await updateUserRow(tx, user, changes);
  if (changes.email !== undefined || changes.managedById !== undefined)
    await moveMembershipsToAddress(tx, context, changed, locked);
  await recordChange(tx, context, users, { before: toAuditView(context, user), after: toAuditView(context, changed) });
  return toUserView(context.actor, changed, context.options);
}

function refuseLastSiteAdmin({ otherSiteAdmins }: LockedUser): void {
  if (otherSiteAdmins === 0) throw conflict("This user is the last site admin. Make another user a site admin first.");
}

function toAuditView(context: Context, user: UserTable) {
  return { ...toUserView(context.actor, user, context.options), showsEmail: true, organizationId: null };
}
