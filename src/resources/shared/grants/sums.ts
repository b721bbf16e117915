/**
 * The sums of grants as tables that a statement joins: what somebody holds on every project and on every workspace of an organization, and
 * questions about such sums. What the numbers mean is decided in `access/`; these are its pieces, spelled for the database.
 */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { everywhereByBit, levelsOn, ownersBit, type ThingKind, type Wanted, wantedOn } from "../../../access/reach.ts";
import type { Mask } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import { inForce } from "./in-force.ts";
import { actorTeams } from "./reads.ts";

type Sql<Value> = RawBuilder<Value>;

/**
 * Three tables for a statement's WITH: `mine` (the teams), `granted` (by project) and `single` (by workspace), the last two with the sum
 * of the records as `mask`; a prefix says whose they are where somebody else's stand beside them. Small where the teams have few records,
 * however large the organization.
 */
export function grantTables(
  prefix: "" | `${string}_`,
  organizationId: Expression<string>,
  principal: Expression<string> | string,
): Sql<unknown> {
  const table = (name: string) => sql.table(`${prefix}${name}`);
  // CROSS JOIN keeps the order of the tables: from the few teams to their records, never the other way round.
  return sql`${table("mine")} as materialized ${actorTeams(organizationId, principal as string)},
    ${table("granted")} as materialized (
      select g.project_id as project_id, bit_or(g.permissions) as mask from ${table("mine")} as mine cross join team_projects as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by g.project_id),
    ${table("single")} as materialized (
      select g.workspace_id as workspace_id, bit_or(g.permissions) as mask from ${table("mine")} as mine cross join team_workspaces as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by g.workspace_id)`;
}

/** A number of `access/` as the database's widest: the engines differ in what they take a plain parameter for. */
export const wide = (mask: Mask): Sql<number> => sql<number>`cast(${mask} as bigint)`;

/** `everywhereOf`: what organization-level permissions, added up, give on every project and workspace. */
export function everywhereIn(organizationAccess: Expression<number | null>): Sql<number> {
  const given = everywhereByBit.map(
    ({ bit, gives }) => sql`case when (${organizationAccess} & ${sql.lit(bit)}) <> 0 then ${sql.lit(gives)} else 0 end`,
  );
  return sql<number>`(${sql.join(given, sql` | `)})`;
}

/** `fulfils`: whether a sum of grants lets its holder see a thing and holds any of the bits that are asked for. */
export function fulfilsIn(
  mask: Expression<number>,
  { sees, any }: { [Name in keyof Wanted]: Expression<number> },
): Sql<SqlBool> {
  return sql<SqlBool>`((${mask} & ${sees}) <> 0 and (${mask} & ${any}) <> 0)`;
}

/** Whether organization-level permissions, added up, make an owner. */
export const ownsIn = (organizationAccess: Expression<number | null>): Sql<SqlBool> =>
  sql<SqlBool>`(coalesce(${organizationAccess}, 0) & ${sql.lit(ownersBit)}) <> 0`;

/** `bitsGiving`, for a holder of whom only the statement knows whether it owns the organization, and what that allows its admins. */
export function bitsGivingIn(
  kind: ThingKind,
  permission: string | undefined,
  { owner, allowForceDelete }: { readonly owner: Expression<SqlBool>; readonly allowForceDelete: Expression<number> },
): Sql<number> {
  const any = (isOwner: boolean, allowForceDeleteWorkspaces: number) =>
    sql.lit(wantedOn(kind, permission, { owner: isOwner, allowForceDeleteWorkspaces }).any);
  return sql<number>`case
    when ${owner} then case ${allowForceDelete} when 1 then ${any(true, 1)} else ${any(true, 0)} end
    when ${allowForceDelete} = 1 then ${any(false, 1)} else ${any(false, 0)} end`;
}

/** `levelOf`: the level that a sum of grants amounts to. */
export function levelIn(kind: ThingKind, mask: Expression<number>): Sql<string> {
  const { counts, levels } = levelsOn[kind];
  const cases = levels.map(([name, gives]) => sql`when ${sql.lit(gives)} then ${sql.lit(name)}`);
  return sql<string>`case (${mask} & ${sql.lit(counts)}) ${sql.join(cases, sql` `)} else 'custom' end`;
}

/** One sum that a person or a team holds by records, or by its teams' organization-level permissions. */
export interface HeldSum {
  /** The person's or the team's id. */
  readonly principal: string;
  readonly on: "organization" | "project" | "workspace";
  /** Of the project or workspace; the organization's own where `on` is that, and then `mask` is of organization-level permissions. */
  readonly thingId: string;
  readonly mask: Mask;
}

/**
 * Everything that some people and teams hold in an organization, added up by thing: one statement, with a row for each thing on which one of
 * them has a record. What one holds on a workspace is `everywhereOf` its organization's row, the row of the workspace's project and its own.
 */
export async function sumsOf(tx: Tx, organizationId: string, principals: readonly string[]): Promise<HeldSum[]> {
  const { isOneOf } = tx.dialect;
  const result = await sql<HeldSum>`
    with mine as materialized (
      select seat.user_id as principal, seat.team_id as team_id from team_members as seat
      where seat.organization_id = ${organizationId} and ${isOneOf(sql.ref("seat.user_id"), principals)} and ${inForce("seat")}
      union all
      select id as principal, id as team_id from teams
      where organization_id = ${organizationId} and ${isOneOf(sql.ref("id"), principals)})
    select principal, 'organization' as "on", cast(${organizationId} as text) as thing_id, bit_or(t.organization_access) as mask
      from mine cross join teams as t where t.id = mine.team_id group by principal
    union all
    select principal, 'project' as "on", g.project_id as thing_id, bit_or(g.permissions) as mask
      from mine cross join team_projects as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by principal, g.project_id
    union all
    select principal, 'workspace' as "on", g.workspace_id as thing_id, bit_or(g.permissions) as mask
      from mine cross join team_workspaces as g
      where g.organization_id = ${organizationId} and g.team_id = mine.team_id and ${inForce("g")} group by principal, g.workspace_id
    order by 1, 2, 3`.execute(tx.db);
  return result.rows.map((row) => ({ ...row, mask: Number(row.mask) }));
}
