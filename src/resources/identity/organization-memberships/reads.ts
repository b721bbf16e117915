/** What neighbours ask of memberships. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Standing } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { MembershipView } from "./definition.ts";
import { membershipsWhere } from "./store.ts";

export { listRowsInTeam as listMembershipsInTeam } from "./store.ts";

/** Memberships of one organization, shown beside a team, as the caller sees each of them. */
export async function membershipsByIds(
  tx: Tx,
  actor: Actor,
  standing: Pick<Standing, "seesSecretTeams">,
  ids: readonly string[],
): Promise<MembershipView[]> {
  return membershipsWhere(tx, actor, standing, tx.dialect.isOneOf(sql.ref("m.id"), ids));
}
