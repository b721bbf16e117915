/** Which teams a caller may know of, as a condition of a statement; the same rule as `can-read` in `access/permissions.ts`. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Standing } from "../../../access/organization.ts";
import { actorTeams } from "../../shared/grants/reads.ts";

/** For a statement in which the teams are called `t`. */
export function teamIsVisible(actor: Actor, standing: Pick<Standing, "seesSecretTeams">): RawBuilder<SqlBool> {
  if (standing.seesSecretTeams) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(t.visibility = 'organization' or t.id in ${actorTeams(sql.ref("t.organizationId"), principalOf(actor))})`;
}
