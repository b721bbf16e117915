/** Writes to users for other modules and the command line. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { type Fault, throwIfInvalid } from "../../../kernel/errors.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import {
  activateInvitations,
  type LockedOrganizations,
  lockOrganizations,
} from "../organization-memberships/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { users } from "./definition.ts";
import { newUser, takenFaults, toUserView } from "./rules.ts";
import { insertUser, findTakenFields, updateUserRow, type UserCreateProof } from "./store.ts";

type UserChangeContext = Pick<Context, "actor" | "requestId" | "options" | "hooks" | "warn">;

/** For an organization's provider, accepts only that organization's invitation: nobody else takes the address as verified. */
export async function addSsoUser(
  tx: Tx,
  context: UserChangeContext,
  by: Granted<{ readonly organizationId: string | null }, "can-create-users">,
  user: UserTable,
  locked: LockedOrganizations,
): Promise<void> {
  await insertUser(tx, by, user);
  await activateInvitations(tx, context, user, locked, { onlyIn: by.organizationId });
  const after = { ...toUserView(context.actor, user, context.options), showsEmail: true };
  await recordChange(tx, context, users, { after: { ...after, organizationId: by.organizationId } });
}

/** From now on only this organization takes the user's email address as verified. */
export async function setManagingOrganization(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  user: Granted<UserTable, "can-sign-in">,
  organizationId: string,
): Promise<void> {
  if (user.managedById === organizationId) return;
  await updateUserRow(tx, user, { managedById: organizationId });
  await recordEvent(tx, context, {
    organizationId,
    verb: "update",
    subject: { type: users.type, id: user.id },
    after: { "managed-by": organizationId },
  });
}

/** Accepts the invitations to the address. Throws `not-found` unless a site admin or the operator calls, and `invalid` for taken names. */
export async function addUser(
  tx: Tx,
  context: UserChangeContext,
  attributes: CreateAttributes<typeof users>,
): Promise<UserTable> {
  const administration = requireSiteAdmin(context.actor);
  const user = newUser(attributes);
  const locked = await lockOrganizations(tx, user);
  await insertNewUser(tx, context, administration, user);
  await activateInvitations(tx, context, user, locked);
  return user;
}

/** If an organization created the link, only that organization takes the address as verified. */
export const newInvitedUser = (
  attributes: Pick<CreateAttributes<typeof users>, "username" | "email">,
  managedById: string | null,
): UserTable => ({ ...newUser(attributes), managedById });

export async function addInvitedUser(
  tx: Tx,
  context: UserChangeContext,
  by: Granted<object, "can-accept">,
  user: UserTable,
  faults: readonly Fault[],
): Promise<void> {
  await insertNewUser(tx, context, by, user, faults);
}

async function insertNewUser(
  tx: Tx,
  context: UserChangeContext,
  by: UserCreateProof,
  user: UserTable,
  faults: readonly Fault[] = [],
): Promise<void> {
  throwIfInvalid([...takenFaults(await findTakenFields(tx, user)), ...faults]);
  await insertUser(tx, by, user);
  await recordChange(tx, context, users, {
    after: { ...toUserView(context.actor, user, context.options), showsEmail: true, organizationId: null },
  });
}
