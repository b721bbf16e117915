/**
 * Whether what was given is still in force: the only spelling of it. Whatever reads places in teams or records of team access asks
 * this in its statement, so that access ends at its moment on every server, long before a job tidies up; `test/in-force.test.ts`
 * finds what does not ask. The clock is the server's, as for tokens. See docs/decisions/0100-grants-end-by-the-decision.md.
 */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { present } from "../../../database/present.ts";

/** Sorts after every instant: the end of what has none. */
export const forEver = "~";

const endOf = (table: string) => sql.ref<string | null>(`${table}.expiresAt`);

/** Of a row of `team_members`, `team_projects` or `team_workspaces`, by what the statement calls it: at this moment, or until `through`. */
export function inForce(table: string, through?: Expression<string>): RawBuilder<SqlBool> {
  const end = endOf(table);
  return through === undefined
    ? sql<SqlBool>`(${end} is null or ${end} > ${present})`
    : sql<SqlBool>`(${end} is null or ${end} >= ${through})`;
}

/** The opposite: it gives nothing any more, and waits to be tidied up. */
export function hasEnded(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${endOf(table)} <= ${present})`;
}

/** When anything given to anybody ends next, as it is stored; null where nothing does. What was decided before holds until then. */
export const nextEnd: RawBuilder<string | null> = sql<string | null>`(select min(coming.ends) from (
  select min(expires_at) as ends from team_members where expires_at > ${present}
  union all select min(expires_at) from team_projects where expires_at > ${present}
  union all select min(expires_at) from team_workspaces where expires_at > ${present}) as coming)`;

/** How many records on a project have ended and are still counted by it. */
export function endedOnProject(projectId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_projects as gone where gone.project_id = ${projectId} and ${hasEnded("gone")})`;
}

/** How many people's places in a team have ended and are still counted by it. */
export function endedInTeam(teamId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone
    where gone.team_id = ${teamId} and gone.user_id is not null and ${hasEnded("gone")})`;
}

/** How many places of a member in teams have ended and are still there. */
export function endedOfMembership(membershipId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone where gone.membership_id = ${membershipId} and ${hasEnded("gone")})`;
}
