/** Tests whether access is in force. Other files must not compare `expires_at`. See docs/decisions/0100-access-expires-on-read.md. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { nowParameter } from "../../../database/now-parameter.ts";

/** Sorts after every timestamp. */
export const neverExpires = "~";

const endOf = (table: string) => sql.ref<string | null>(`${table}.expiresAt`);

export function inForce(table: string, lastsUntil?: Expression<string>): RawBuilder<SqlBool> {
  const end = endOf(table);
  return lastsUntil === undefined
    ? sql<SqlBool>`(${end} is null or ${end} > ${nowParameter})`
    : sql<SqlBool>`(${end} is null or ${end} >= ${lastsUntil})`;
}

/** Expired, and not yet removed. */
export function hasExpired(table: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`(${endOf(table)} <= ${nowParameter})`;
}

export function endsNoLaterThan(table: string, other: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`coalesce(${endOf(table)}, ${neverExpires}) <= coalesce(${endOf(other)}, ${neverExpires})`;
}

/** Decisions stay valid until then. Null if no access expires. */
export const nextExpiry: RawBuilder<string | null> = sql<string | null>`(select min(coming.ends) from (
  select min(expires_at) as ends from team_members where expires_at > ${nowParameter}
  union all select min(expires_at) from team_projects where expires_at > ${nowParameter}
  union all select min(expires_at) from team_workspaces where expires_at > ${nowParameter}) as coming)`;

export function expiredCountOnProject(projectId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_projects as gone where gone.project_id = ${projectId} and ${hasExpired("gone")})`;
}

export function expiredCountInTeam(teamId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone
    where gone.team_id = ${teamId} and gone.user_id is not null and ${hasExpired("gone")})`;
}

export function expiredCountOfMembership(membershipId: Expression<string>): RawBuilder<number> {
  return sql<number>`(select count(*) from team_members as gone where gone.membership_id = ${membershipId} and ${hasExpired("gone")})`;
}
