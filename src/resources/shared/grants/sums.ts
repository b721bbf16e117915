/** Sums of grants as SQL tables, and tests on them. It must match the logic in `access/`. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import {
  organizationWideMaskByBit,
  levelsOn,
  ownersBit,
  type TargetKind,
  type MaskRequirement,
  maskRequirementFor,
} from "../../../access/reach.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { inForce } from "./in-force.ts";
import { actorTeams } from "./reads.ts";

type Sql<Value> = RawBuilder<Value>;

/** For a WITH clause: a principal's teams, their grants summed by project, and those by workspace. The prefix separates principals. */
export function grantTables(
  prefix: "" | `${string}_`,
  organizationId: Expression<string>,
  principal: Expression<string> | string,
): Sql<unknown> {
  const table = (name: string) => sql.table(`${prefix}${name}`);
  // CROSS JOIN fixes the order: from the few teams to their records, never the other way round.
  return sql`${table("own_teams")} as materialized ${actorTeams(organizationId, principal as string)},
    ${table("project_grants")} as materialized (
      select g.project_id as project_id, bit_or(g.permissions) as mask from ${table("own_teams")} as t cross join team_projects as g
      where g.organization_id = ${organizationId} and g.team_id = t.team_id and ${inForce("g")} group by g.project_id),
    ${table("workspace_grants")} as materialized (
      select g.workspace_id as workspace_id, bit_or(g.permissions) as mask from ${table("own_teams")} as t cross join team_workspaces as g
      where g.organization_id = ${organizationId} and g.team_id = t.team_id and ${inForce("g")} group by g.workspace_id)`;
}

/** Cast, because the engines infer different types for a plain parameter. */
export const bigintMask = (mask: Mask): Sql<number> => sql<number>`cast(${mask} as bigint)`;

export function organizationWideMaskSql(organizationAccess: Expression<number | null>): Sql<number> {
  const masks = organizationWideMaskByBit.map(
    ({ bit, gives }) => sql`case when (${organizationAccess} & ${sql.lit(bit)}) <> 0 then ${sql.lit(gives)} else 0 end`,
  );
  return sql<number>`(${sql.join(masks, sql` | `)})`;
}

export function meetsRequirementSql(
  mask: Expression<number>,
  { sees, any }: { [Name in keyof MaskRequirement]: Expression<number> },
): Sql<SqlBool> {
  return sql<SqlBool>`((${mask} & ${sees}) <> 0 and (${mask} & ${any}) <> 0)`;
}

export const isOwnerSql = (organizationAccess: Expression<number | null>): Sql<SqlBool> =>
  sql<SqlBool>`(coalesce(${organizationAccess}, 0) & ${sql.lit(ownersBit)}) <> 0`;

/** Only the statement knows whether the holder is an owner and whether admins can force-delete. */
export function bitsGivingSql(
  kind: TargetKind,
  permission: string | undefined,
  { owner, allowForceDelete }: { readonly owner: Expression<SqlBool>; readonly allowForceDelete: Expression<number> },
): Sql<number> {
  const any = (isOwner: boolean, allowForceDeleteWorkspaces: number) =>
    sql.lit(maskRequirementFor(kind, permission, { owner: isOwner, allowForceDeleteWorkspaces }).any);
  return sql<number>`case
    when ${owner} then case ${allowForceDelete} when 1 then ${any(true, 1)} else ${any(true, 0)} end
    when ${allowForceDelete} = 1 then ${any(false, 1)} else ${any(false, 0)} end`;
}

export function levelSql(kind: TargetKind, mask: Expression<number>): Sql<string> {
  const { counts, levels } = levelsOn[kind];
  const cases = levels.map(([name, gives]) => sql`when ${sql.lit(gives)} then ${sql.lit(name)}`);
  return sql<string>`case (${mask} & ${sql.lit(counts)}) ${sql.join(cases, sql` `)} else 'custom' end`;
}
