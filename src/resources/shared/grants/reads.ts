/** SQL that loads the caller's grants with other rows. It must not decide what they add up to: `access/` does. */
import { type AliasedExpression, type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, isSiteAdmin, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { type OrganizationStanding, checkedStandingOf, type StandingRow } from "../../../access/organization.ts";
import type { Mask } from "../../../access/permission-set.ts";
import { authorize, type Granted } from "../../../access/granted.ts";
import { withPhaseGrants, ownWorkspaceMask, sharedStateMask } from "../../../access/run.ts";
import {
  type WorkspacePermissionInput,
  type WorkspacePermission,
  workspacePermissionNeeds,
  workspacePermissions,
} from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { inForce } from "./in-force.ts";

/** An id, or a column of ids. */
export type PrincipalExpression = string | Expression<string | null>;

/** `lastsUntil`: in force until then, because nobody can grant access for longer than they have it. */
export function actorTeams(
  organizationId: Expression<string | null>,
  principal: PrincipalExpression,
  lastsUntil?: Expression<string>,
): RawBuilder<string> {
  return sql<string>`(
    select tm.team_id as team_id from team_members as tm
    where tm.organization_id = ${organizationId} and tm.user_id = ${principal} and ${inForce("tm", lastsUntil)}
    union all
    select id from teams where organization_id = ${organizationId} and id = ${principal})`;
}

function userTokenMaxMs(table: "o" | "limits"): RawBuilder<number | null> {
  const organization = sql.table(table);
  return sql<number | null>`case
    when ${organization}.user_tokens_enabled = 0 then 0
    when ${organization}.max_ttl_enabled = 1 then (
      select max_ttl_ms from organization_token_ttl_policies
      where organization_id = ${organization}.id and token_type = 'user') end`;
}

export type StandingInput = Omit<StandingRow, "organizationId">;
type StandingColumns = { [Name in keyof StandingInput]: AliasedExpression<StandingInput[Name], Name> };
type StandingColumn = StandingColumns[keyof StandingInput];

export function standingColumns(
  organizationId: Expression<string | null>,
  principal: string,
  lastsUntil?: Expression<string>,
): StandingColumn[] {
  const column = <Value, Name extends string>(expression: RawBuilder<Value>, name: Name) => expression.as(name);
  return [
    column(
      // CROSS JOIN keeps the order: from the caller's few teams, not across all that the organization has.
      sql<number | null>`(
        select bit_or(held.organization_access) from ${actorTeams(organizationId, principal, lastsUntil)} as mine
        cross join teams as held where held.id = mine.team_id and held.organization_id = ${organizationId})`,
      "teamAccess",
    ),
    column(
      sql<number>`(
        select count(*) from organization_memberships
        where organization_id = ${organizationId} and user_id = ${principal} and status = 'active')`,
      "isMember",
    ),
    column(
      sql<
        number | null
      >`(select limits.is_disabled from open_organizations as limits where limits.id = ${organizationId})`,
      "organizationDisabled",
    ),
    column(
      sql<number | null>`(
        select ${userTokenMaxMs("limits")} from open_organizations as limits where limits.id = ${organizationId})`,
      "userTokenMaxMs",
    ),
  ];
}

export function standingSelection(organizationId: Expression<string>, principal: string): RawBuilder<unknown> {
  return sql.join(standingColumns(organizationId, principal).map((column) => sql`${column}`));
}

/** For the organization `o`: excludes those for which `checkedStandingOf` throws an error. */
export function isOpenTo(actor: Actor): RawBuilder<SqlBool> {
  const isEnabled = isSiteAdmin(actor) ? sql`1 = 1` : sql`o.is_disabled = 0`;
  if (actor.kind !== "user") return sql<SqlBool>`(${isEnabled})`;
  return sql<SqlBool>`(${isEnabled} and coalesce(${userTokenMaxMs("o")} > cast(${actor.tokenAgeMs} as bigint), true))`;
}

export function projectGrants(
  organizationId: Expression<string>,
  projectId: Expression<string>,
  principal: string,
  lastsUntil?: Expression<string>,
): AliasedExpression<number | null, "projectAccess"> {
  return projectGrantMask(organizationId, projectId, principal, lastsUntil).as("projectAccess");
}

export function projectGrantMask(
  organizationId: Expression<string>,
  projectId: Expression<string>,
  principal: PrincipalExpression,
  lastsUntil?: Expression<string>,
): RawBuilder<number | null> {
  return sql<number | null>`(
    select bit_or(held.permissions) from team_projects as held
    where held.organization_id = ${organizationId} and held.project_id = ${projectId}
      and held.team_id in ${actorTeams(organizationId, principal, lastsUntil)} and ${inForce("held", lastsUntil)})`;
}

/** The id's prefix rules out all callers but runs before the search. */
function runGrants(workspaceId: Expression<string>, principal: string): RawBuilder<number | null> {
  return sql<number | null>`case when cast(${principal} as text) like 'ws-%' then (
    select case
      when shown.id = reader.id then ${sql.lit(ownWorkspaceMask)}
      when shown.global_remote_state = 1
        or (shown.project_remote_state = 1 and shown.project_id = reader.project_id)
        or exists (
          select 1 from remote_state_consumers as consumer
          where consumer.workspace_id = shown.id and consumer.consumer_id = reader.id)
      then ${sql.lit(sharedStateMask)} end
    from workspaces as shown
    inner join workspaces as reader on reader.organization_id = shown.organization_id
    where shown.id = ${workspaceId} and reader.id = ${principal}) end`;
}

export function workspaceGrants(
  organizationId: Expression<string>,
  workspaceId: Expression<string>,
  principal: string,
  lastsUntil?: Expression<string>,
): AliasedExpression<number | null, "workspaceAccess"> {
  const granted = workspaceGrantMask(organizationId, workspaceId, principal, lastsUntil);
  return sql<number | null>`coalesce(${granted}, ${runGrants(workspaceId, principal)})`.as("workspaceAccess");
}

export function workspaceGrantMask(
  organizationId: Expression<string>,
  workspaceId: Expression<string>,
  principal: PrincipalExpression,
  lastsUntil?: Expression<string>,
): RawBuilder<number | null> {
  return sql<number | null>`(
    select bit_or(held.permissions) from team_workspaces as held
    where held.organization_id = ${organizationId} and held.workspace_id = ${workspaceId}
      and held.team_id in ${actorTeams(organizationId, principal, lastsUntil)} and ${inForce("held", lastsUntil)})`;
}

export function workspaceAccessColumns(principal: string) {
  const organizationId = sql.ref<string>("w.organizationId");
  return [
    ...standingColumns(organizationId, principal),
    projectGrants(organizationId, sql.ref("w.projectId"), principal),
    workspaceGrants(organizationId, sql.ref("w.id"), principal),
  ] as const;
}

export interface WorkspaceAccessRow extends StandingRow {
  readonly allowForceDeleteWorkspaces: number;
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

export function workspacePermissionInputOf(actor: Actor, row: WorkspaceAccessRow): WorkspacePermissionInput {
  const standing = checkedStandingOf(actor, row);
  return {
    access: effectiveAccess(
      standing.organizationWideMask,
      row.projectAccess,
      withPhaseGrants(actor, row.workspaceAccess),
    ),
    owner: standing.owner,
    allowForceDeleteWorkspaces: row.allowForceDeleteWorkspaces,
  };
}

/** Throws `forbidden`, or `not-found` if the caller can't see the workspace; with `hide`, always `not-found`. */
export function authorizeOnWorkspace<Row extends WorkspacePermissionInput, Permission extends WorkspacePermission>(
  thing: string,
  row: Row,
  permission: Permission,
  whenDenied: "forbid" | "hide" = "forbid",
): Granted<Row, Permission> {
  const permissions = workspacePermissions(row);
  return authorize(row, {
    thing,
    permission,
    visible: permissions["can-read-settings"],
    allowed: permissions[permission],
    needs: workspacePermissionNeeds[permission],
    whenDenied,
  });
}

export function hasWorkspaceGrant(
  organizationId: Expression<string>,
  workspaceId: Expression<string>,
  principal: string,
  bit: Mask,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`${workspaceId} in (
    select held.workspace_id from team_workspaces as held
    where held.organization_id = ${organizationId} and held.team_id in ${actorTeams(organizationId, principal)}
      and (held.permissions & ${bit}) <> 0 and ${inForce("held")})`;
}

export function hasProjectGrant(
  organizationId: Expression<string>,
  projectId: Expression<string>,
  principal: string,
  bit: Mask,
): RawBuilder<SqlBool> {
  return sql<SqlBool>`${projectId} in (
    select held.project_id from team_projects as held
    where held.organization_id = ${organizationId} and held.team_id in ${actorTeams(organizationId, principal)}
      and (held.permissions & ${bit}) <> 0 and ${inForce("held")})`;
}

export const hasExpirableAccess = (actor: Actor): boolean => principalOf(actor) !== "" && !isSiteAdmin(actor);

/** The standing that stays in force until `lastsUntil`: a temporary owner is no owner for longer. */
export async function standingUntil(
  tx: Tx,
  actor: Actor,
  standing: OrganizationStanding,
  organizationId: string,
  lastsUntil: string,
): Promise<OrganizationStanding> {
  if (!hasExpirableAccess(actor)) return standing;
  const columns = standingColumns(sql<string>`${organizationId}`, principalOf(actor), sql<string>`${lastsUntil}`);
  const row = await tx.db.selectNoFrom(columns).executeTakeFirstOrThrow();
  return checkedStandingOf(actor, { ...row, organizationId });
}

/** Whether one of these teams gives more, until `lastsUntil`, than the caller has for as long. `standing`: the caller's until `lastsUntil`. */
export async function teamsExceedCaller(
  tx: Tx,
  actor: Actor,
  standing: OrganizationStanding,
  { organizationId, teamIds, lastsUntil }: { organizationId: string; teamIds: readonly string[]; lastsUntil: string },
): Promise<boolean> {
  if (standing.owner || teamIds.length === 0) return false;
  const organization = sql<string>`${organizationId}`;
  const principal = principalOf(actor);
  const isGranted = sql`g.organization_id = ${organizationId}
    and ${tx.dialect.isOneOf(sql.ref("g.team_id"), teamIds)} and ${inForce("g")}`;
  // A record that expires before the membership counts only until its own expiry.
  const needed = sql<string>`case when g.expires_at < ${lastsUntil} then g.expires_at else ${lastsUntil} end`;
  const grantable = sql`cast(${standing.grantableMask} as bigint)`;
  const onProject = (projectId: Expression<string>) =>
    sql`coalesce(${projectGrantMask(organization, projectId, principal, needed)}, 0)`;
  const onWorkspace = workspaceGrantMask(organization, sql.ref("g.workspace_id"), principal, needed);
  const result = await sql<{ exceeding: number }>`
    select count(*) as exceeding from (
      select id from teams
      where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("id"), teamIds)}
        and (organization_access & ~cast(${standing.organization} as bigint)) <> 0
      union all
      select g.id from team_projects as g
      where ${isGranted} and (g.permissions & ~(${grantable} | ${onProject(sql.ref("g.project_id"))})) <> 0
      union all
      select g.id from team_workspaces as g
      inner join workspaces as w on w.id = g.workspace_id
      where ${isGranted} and (g.permissions
        & ~(${grantable} | ${onProject(sql.ref("w.project_id"))} | coalesce(${onWorkspace}, 0))) <> 0
    ) as exceeding_grants`.execute(tx.db);
  return Number(result.rows[0]?.exceeding ?? 0) > 0;
}
