/** What neighbours, and the command line, have done to users. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { type Fault, refuseIfAny } from "../../../kernel/errors.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { activateInvitations, type Held, holdOrganizations } from "../organization-memberships/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { users } from "./definition.ts";
import { newUser, takenFaults, toUserView } from "./rules.ts";
import { insertUser, takenBy, updateUserRow, type UserMaker } from "./store.ts";

type Maker = Pick<Context, "actor" | "requestId" | "options">;

/**
 * Somebody whom a provider of single sign-on has made known. Of an organization's own provider only that organization's invitation is
 * taken up: to all others the address is not proven yet.
 */
export async function addProvidedUser(
  tx: Tx,
  context: Maker,
  by: Granted<{ readonly organizationId: string | null }, "can-create-users">,
  user: UserTable,
  held: Held,
): Promise<void> {
  await insertUser(tx, by, user);
  await activateInvitations(tx, context, user, held, by.organizationId ?? undefined);
  const after = { ...toUserView(context.actor, user, context.options), showsEmail: true };
  await recordChange(tx, context, users, { after: { ...after, organizationId: by.organizationId } });
}

/** From now on the organization's provider speaks for the user, so nobody else takes the address for proven. */
export async function putUnderManagement(
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

/**
 * Adds a user and makes memberships of the invitations that wait for the address. Raises `not-found` for everybody but site
 * admins and the operator, and `invalid` for a taken name or address.
 */
export async function addUser(tx: Tx, context: Maker, attributes: CreateAttributes<typeof users>): Promise<UserTable> {
  const administration = requireSiteAdmin(context.actor);
  const user = newUser(attributes);
  const held = await holdOrganizations(tx, user);
  await enter(tx, context, administration, user);
  await activateInvitations(tx, context, user, held);
  return user;
}

/** Somebody who comes by a link. Where an organization made that, it alone takes the address for proven. */
export const newInvitedUser = (
  attributes: Pick<CreateAttributes<typeof users>, "username" | "email">,
  managedById: string | null,
): UserTable => ({ ...newUser(attributes), managedById });

/** Raises `invalid` for a taken name, beside whatever else is wrong. */
export async function addInvitedUser(
  tx: Tx,
  context: Maker,
  by: Granted<object, "can-accept">,
  user: UserTable,
  faults: readonly Fault[],
): Promise<void> {
  await enter(tx, context, by, user, faults);
}

async function enter(
  tx: Tx,
  context: Maker,
  by: UserMaker,
  user: UserTable,
  faults: readonly Fault[] = [],
): Promise<void> {
  refuseIfAny([...takenFaults(await takenBy(tx, user)), ...faults]);
  await insertUser(tx, by, user);
  await recordChange(tx, context, users, {
    after: { ...toUserView(context.actor, user, context.options), showsEmail: true, organizationId: null },
  });
}
