/** What neighbours, and the command line, have done to users. */
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import type { Granted } from "../../../access/granted.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { activateInvitations, type Held, holdOrganizations } from "../organization-memberships/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { users } from "./definition.ts";
import { newUser, takenFaults, toUserView } from "./rules.ts";
import { insertUser, takenBy, updateUserRow } from "./store.ts";

/**
 * Somebody whom a provider of single sign-on has made known. Of an organization's own provider only that organization's invitation is
 * taken up: to all others the address is not proven yet.
 */
export async function addProvidedUser(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId" | "options">,
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
export async function addUser(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId" | "options">,
  attributes: CreateAttributes<typeof users>,
): Promise<UserTable> {
  const administration = requireSiteAdmin(context.actor);
  const user = newUser(attributes);
  const held = await holdOrganizations(tx, user);
  refuseIfAny(takenFaults(await takenBy(tx, user)));
  await insertUser(tx, administration, user);
  await activateInvitations(tx, context, user, held);
  await recordChange(tx, context, users, {
    after: { ...toUserView(context.actor, user, context.options), showsEmail: true, organizationId: null },
  });
  return user;
}
