/** The SQL condition for teams that a caller can see. It must match `can-read` in `access/permissions/organization.ts`. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { OrganizationStanding } from "../../../access/organization.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { actorTeams, type PrincipalExpression } from "../../shared/grants/reads.ts";

type SecretTeamAccess = Pick<OrganizationStanding, "seesSecretTeams">;

export const teamIsVisible = (actor: Actor, standing: SecretTeamAccess): RawBuilder<SqlBool> =>
  teamIsVisibleTo(principalOf(actor), standing);

export function teamIsVisibleTo(
  principal: PrincipalExpression,
  { seesSecretTeams }: SecretTeamAccess,
): RawBuilder<SqlBool> {
  if (seesSecretTeams) return sql<SqlBool>`1 = 1`;
  return sql<SqlBool>`(t.visibility = 'organization' or t.id in ${actorTeams(sql.ref("t.organizationId"), principal)})`;
}

export function includesActor(principal: string): RawBuilder<number> {
  return sql<number>`case when t.id = ${principal} or exists (
    select 1 from team_members as tm where tm.organization_id = t.organization_id and tm.team_id = t.id
      and tm.user_id = ${principal} and ${inForce("tm")}) then 1 else 0 end`;
}
