/** What neighbours show of organizations to site admins. */
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import type { Administration } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { users } from "../users/definition.ts";
import { readableUsers } from "../users/reads.ts";
import { adminOrganizations } from "./definition.ts";
import { findAdminOrganizations } from "./store.ts";

/** With their owners, where those are asked for. */
export async function organizationsBeside(
  tx: Tx,
  context: Context,
  _by: Administration,
  ids: readonly string[],
  withOwners: boolean,
): Promise<Included[]> {
  if (ids.length === 0) return [];
  const views = await findAdminOrganizations(tx, ids);
  const owners = withOwners
    ? await readableUsers(
        tx,
        context,
        views.flatMap(({ ownerIds }) => ownerIds),
      )
    : [];
  return [
    ...views.map((view) => ({ definition: adminOrganizations, view })),
    ...owners.map((view) => ({ definition: users, view })),
  ];
}
