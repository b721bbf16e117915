/**
 * Whether access is still in force: the only place that spells it. Every statement that reads team memberships or team access
 * records uses it, so that access ends on time on every server, long before a job removes the rows; `test/in-force.test.ts` finds
 * those that don't. The clock is the server's, as for tokens. See docs/decisions/0100-access-expires-on-read.md.
 */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { nowParameter } from "../../../database/now-parameter.ts";

/** Sorts after every timestamp. */
export const neverExpires = "~";

const endOf = (table: string) => sql.ref<string | null>(`${table}.expiresAt`);

/**
 * For a row of `team_members`, `team_projects` or `team_workspaces`, under its alias in the statement: in force now, or until
 * `through`.
 */
export function inForce(table: string, through?: Expression<string>): RawBuilder<SqlBool> {
  const end = endOf(table);
  return through === undefined
    ? sql<SqlBool>`(${end} is null or ${end} > ${nowParameter})`
    : sql<SqlBool>`(${end} is null or ${end} >= ${through})`;
}

/** Expired, but not yet removed. */
export function hasExpired(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${endOf(table)} <= ${nowParameter})`;
}

/** When the next access of anybody expires; null if none does. Decisions stay valid until then. */
export const nextExpiry: RawBuilder<string | null> = sql<string | null>`(select min(coming.ends) from (
  select min(expires_at) as ends from team_members where expires_at > ${nowParameter}
  union all select min(expires_at) from team_projects where expires_at > ${nowParameter}
  union all select min(expires_at) from team_workspaces where expires_at > ${nowParameter}) as coming)`;

/** Expired records that the project's counter still includes. */
export function expiredCountOnProject(projectId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_projects as gone where gone.project_id = ${projectId} and ${hasExpired("gone")})`;
}

/** Expired memberships that the team's counter still includes. */
export function expiredCountInTeam(teamId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone
    where gone.team_id = ${teamId} and gone.user_id is not null and ${hasExpired("gone")})`;
}

export function expiredCountOfMembership(membershipId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone where gone.membership_id = ${membershipId} and ${hasExpired("gone")})`;
}
