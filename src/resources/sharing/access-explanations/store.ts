/** SQL of access explanations. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type Access, effectiveAccess } from "../../../access/effective.ts";
import { organizationBitsGivingAccess, type TeamAccessRow } from "../../../access/explain.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { membershipGroup } from "../../shared/grants/expiry.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import {
  actorTeams,
  projectGrants,
  standingColumns,
  type StandingInput,
  workspaceGrants,
} from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export type ExplainedTargetReference = { readonly projectId: string } | { readonly workspaceId: string };

export interface ExplainedTarget {
  readonly projectId: string;
  readonly workspaceId: string | null;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly allowForceDeleteWorkspaces: number;
  readonly callerAccess: Access;
  readonly standing: OrganizationStanding;
}

interface ExplainedTargetRow extends Omit<ExplainedTarget, "callerAccess" | "standing">, StandingInput {
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

function targetForActor(db: Kysely<Schema>, reference: ExplainedTargetReference, principal: string) {
  if ("workspaceId" in reference) {
    return db
      .selectFrom("workspaces as w")
      .innerJoin("organizations as o", openWithId("w.organizationId"))
      .select(["w.projectId", "w.id as workspaceId", "w.organizationId"])
      .select(["o.name as organizationName", "o.allowForceDeleteWorkspaces"])
      .select(standingColumns(sql.ref("w.organizationId"), principal))
      .select(projectGrants(sql.ref("w.organizationId"), sql.ref("w.projectId"), principal))
      .select(workspaceGrants(sql.ref("w.organizationId"), sql.ref("w.id"), principal))
      .where("w.id", "=", reference.workspaceId);
  }
  return db
    .selectFrom("projects as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .select(["p.id as projectId", sql<string | null>`cast(null as text)`.as("workspaceId"), "p.organizationId"])
    .select(["o.name as organizationName", "o.allowForceDeleteWorkspaces"])
    .select(standingColumns(sql.ref("p.organizationId"), principal))
    .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
    .select(sql<number | null>`cast(null as bigint)`.as("workspaceAccess"))
    .where("p.id", "=", reference.projectId);
}

function toTarget(actor: Actor, row: ExplainedTargetRow): ExplainedTarget {
  const standing = checkedStandingOf(actor, row);
  const callerAccess = effectiveAccess(standing.organizationWideMask, row.projectAccess, row.workspaceAccess);
  return { ...row, standing, callerAccess };
}

export async function findAccessTarget(
  tx: Tx,
  actor: Actor,
  reference: ExplainedTargetReference,
): Promise<ExplainedTarget | undefined> {
  const row = await targetForActor(tx.db, reference, principalOf(actor)).executeTakeFirst();
  return row && toTarget(actor, row as ExplainedTargetRow);
}

export interface ExplainedPersonRow {
  readonly personId: string | null;
  readonly personName: string | null;
  readonly personIsSiteAdmin: number | null;
  readonly personIsMember: number;
}

const teamAccessColumns = sql`
  t.id as team_id, t.name as team_name, t.is_owners, t.organization_access,
  tp.id as project_record_id, tp.access as project_level, tp.permissions as project_permissions,
  tp.expires_at as project_until, tp.reason as project_reason,
  tw.id as workspace_record_id, tw.access as workspace_level, tw.permissions as workspace_permissions,
  tw.expires_at as workspace_until, tw.reason as workspace_reason`;

function joinRecords(projectId: RawBuilder<unknown>, workspaceId: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    left join team_projects as tp
      on tp.organization_id = t.organization_id and tp.project_id = ${projectId} and tp.team_id = t.id
        and ${inForce("tp")}
    left join team_workspaces as tw
      on tw.organization_id = t.organization_id and tw.workspace_id = ${workspaceId} and tw.team_id = t.id
        and ${inForce("tw")}`;
}

export interface SubjectTeamRow extends TeamAccessRow {
  readonly isVisibleToCaller: number;
}

export async function findAccessTargetWithTeams(
  tx: Tx,
  actor: Actor,
  reference: ExplainedTargetReference,
  subjectPrincipal: string,
): Promise<{ target: ExplainedTarget; person: ExplainedPersonRow; teamRows: SubjectTeamRow[] } | undefined> {
  const target = targetForActor(tx.db, reference, principalOf(actor));
  const result = await sql<
    ExplainedTargetRow & ExplainedPersonRow & { [K in keyof SubjectTeamRow]: SubjectTeamRow[K] | null }
  >`
    with target as materialized ${target}
    select target.*, u.id as person_id, u.username as person_name, u.is_site_admin as person_is_site_admin,
      (select count(*) from organization_memberships as m
        where m.organization_id = target.organization_id and m.user_id = u.id and m.status = 'active') as person_is_member,
      ${teamAccessColumns}, tm.expires_at as membership_until, tm.reason as membership_reason, ${membershipGroup("tm")} as membership_group,
      case when t.visibility = 'organization' or tp.id is not null or tw.id is not null
          or (t.organization_access & ${organizationBitsGivingAccess}) <> 0
          or t.id in ${actorTeams(sql.ref("target.organization_id"), principalOf(actor))} then 1 else 0 end as is_visible_to_caller
    from target
    left join users as u on u.id = ${subjectPrincipal}
    left join teams as t on t.organization_id = target.organization_id
      and t.id in ${actorTeams(sql.ref("target.organization_id"), subjectPrincipal)}
    left join team_members as tm on tm.team_id = t.id and tm.organization_id = t.organization_id
      and tm.user_id = u.id and ${inForce("tm")}
    ${joinRecords(sql`target.project_id`, sql`target.workspace_id`)}
    order by t.name_key, t.id`.execute(tx.db);
  const [row] = result.rows;
  if (row === undefined) return undefined;
  return {
    target: toTarget(actor, row),
    person: row,
    teamRows: result.rows.filter((teamRow): teamRow is typeof teamRow & SubjectTeamRow => teamRow.teamId !== null),
  };
}

export async function listTeamAccessRows(
  tx: Tx,
  actor: Actor,
  target: ExplainedTarget,
  seesSecretTeams: boolean,
  page: Page,
): Promise<{ teamRows: TeamAccessRow[]; totalCount: number }> {
  const { organizationId, projectId, workspaceId } = target;
  const rows = tx.db
    .selectFrom("teams as t")
    .leftJoin("teamProjects as tp", (join) =>
      join
        .onRef("tp.organizationId", "=", "t.organizationId")
        .onRef("tp.teamId", "=", "t.id")
        .on("tp.projectId", "=", projectId)
        .on(inForce("tp")),
    )
    .leftJoin("teamWorkspaces as tw", (join) =>
      join
        .onRef("tw.organizationId", "=", "t.organizationId")
        .onRef("tw.teamId", "=", "t.id")
        .on("tw.workspaceId", "=", workspaceId ?? "")
        .on(inForce("tw")),
    )
    .select(["t.id", "t.id as teamId", "t.name as teamName", "t.nameKey", "t.isOwners", "t.organizationAccess"])
    .select(["tp.id as projectRecordId", "tp.access as projectLevel", "tp.permissions as projectPermissions"])
    .select(["tp.expiresAt as projectUntil", "tp.reason as projectReason"])
    .select(["tw.id as workspaceRecordId", "tw.access as workspaceLevel", "tw.permissions as workspacePermissions"])
    .select(["tw.expiresAt as workspaceUntil", "tw.reason as workspaceReason"])
    .where("t.organizationId", "=", organizationId)
    .where(teamIsVisible(actor, { seesSecretTeams }))
    .where(
      sql<boolean>`((t.organization_access & ${organizationBitsGivingAccess}) <> 0 or tp.id is not null or tw.id is not null)`,
    );
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "t.nameKey" }, { column: "t.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("t.id")) },
  });
  return { teamRows: found.rows, totalCount: found.totals.totalCount };
}
