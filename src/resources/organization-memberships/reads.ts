/** What neighbours ask of memberships. */
import { sql } from "kysely";
import type { Actor } from "../../access/actor.ts";
import type { Tx } from "../../database/database.ts";
import type { MembershipView } from "./definition.ts";
import { membershipsWithOwnTeams } from "./store.ts";

/** Memberships of one organization, shown beside a team; of their teams, those that anyone there may know of. */
export async function membershipsByIds(tx: Tx, actor: Actor, ids: readonly string[]): Promise<MembershipView[]> {
  return membershipsWithOwnTeams(tx, actor, tx.dialect.isOneOf(sql.ref("m.id"), ids));
}
