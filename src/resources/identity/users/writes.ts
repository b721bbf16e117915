/** What neighbours, and the command line, have done to users. */
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { activateInvitations, holdOrganizations } from "../organization-memberships/writes.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { users } from "./definition.ts";
import { newUser, takenFaults, toUserView } from "./rules.ts";
import { insertUser, takenBy } from "./store.ts";

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
