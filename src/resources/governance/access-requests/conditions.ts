/** SQL conditions of access requests, for the request `r`: who can see and decide it. */
import { type Expression, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Dialect } from "../../../database/dialect.ts";
import { nowParameter } from "../../../database/now-parameter.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import {
  actorTeams,
  type PrincipalExpression,
  projectGrantMask,
  workspaceGrantMask,
} from "../../shared/grants/reads.ts";
import { organizationWideMaskSql } from "../../shared/grants/sums.ts";
import { teamIsVisibleTo } from "../../identity/teams/visibility.ts";
import { maskOf } from "../../../access/permission-set.ts";
import { organizationBit } from "../../../access/organization.ts";

/** Pending requests count as lapsed from `lapses_at` on, whether or not the job has stored it. */
export const isPending: RawBuilder<SqlBool> = sql<SqlBool>`(r.status = 'pending' and r.lapses_at > ${nowParameter})`;
export const hasLapsed: RawBuilder<SqlBool> = sql<SqlBool>`(
  r.status = 'lapsed' or (r.status = 'pending' and r.lapses_at <= ${nowParameter}))`;
export const currentStatus: RawBuilder<string> = sql<string>`case
  when r.status = 'pending' and r.lapses_at <= ${nowParameter} then 'lapsed' else r.status end`;

const party = (role: string, condition: RawBuilder<unknown>): RawBuilder<SqlBool> => sql<SqlBool>`exists (
  select 1 from access_request_parties as party
  where party.request_id = r.id and party.role = ${sql.lit(role)} and party.subject_id ${condition})`;

export const partyRoles = {
  beneficiaryUser: "beneficiary-user",
  beneficiaryTeam: "beneficiary-team",
  approverTeam: "approver-team",
  namedUser: "named-user",
} as const;

const organizationId = sql.ref<string>("r.organizationId");

/** By what was known when the request was created; the approval compares access before and after the changes. */
export const isLikelyBeneficiary = (principal: PrincipalExpression): RawBuilder<SqlBool> => sql<SqlBool>`(
  ${party(partyRoles.beneficiaryUser, sql`= ${principal}`)}
  or ${party(partyRoles.beneficiaryTeam, sql`in ${actorTeams(organizationId, principal)}`)})`;

/** Teams removed from the offer can't approve. If the offer was deleted, its former approver teams can still see and deny its requests. */
const currentApproverTeams = sql`(
  select named.team_id from access_offer_teams as named where named.access_offer_id = r.offer_id and named.kind = 'approver'
  union all select gone.subject_id from access_request_parties as gone
    where gone.request_id = r.id and not exists (select 1 from access_offers as a where a.id = r.offer_id))`;

export const isInApproverTeam = (principal: PrincipalExpression): RawBuilder<SqlBool> =>
  party(
    partyRoles.approverTeam,
    sql`in ${actorTeams(organizationId, principal)} and party.subject_id in ${currentApproverTeams}`,
  );

/** Whether the principal meets all of the request's requirements. See docs/decisions/0200-deciders-in-sql.md. */
export const meetsAllRequirements = (
  dialect: Dialect,
  principal: PrincipalExpression,
): RawBuilder<SqlBool> => sql<SqlBool>`not exists (
  select 1 from (
    select n.kind, n.subject_id, n.project_id, n.mask, ${requiredEnd(dialect)} as ends
    from access_request_requirements as n where n.request_id = r.id) as need
  where ${isUnmet(principal)})`;

const decidingMask = maskOf({ teams: "manage", workspaceAdmin: true, move: true });

/** Each request requires one of these, so that without them nobody meets its requirements. The engines compute it once for a list. */
export const canDecideSome = (
  organizationId: Expression<string>,
  principal: string,
): RawBuilder<SqlBool> => sql<SqlBool>`(
  exists (select 1 from ${actorTeams(organizationId, principal)} as mine
    cross join teams as held where held.id = mine.team_id and held.organization_access <> 0)
  or exists (select 1 from ${actorTeams(organizationId, principal)} as mine
    cross join team_projects as g where g.team_id = mine.team_id and g.organization_id = ${organizationId}
      and ${inForce("g")} and (g.permissions & ${sql.lit(decidingMask)}) <> 0)
  or exists (select 1 from ${actorTeams(organizationId, principal)} as mine
    cross join team_workspaces as g where g.team_id = mine.team_id and g.organization_id = ${organizationId}
      and ${inForce("g")} and (g.permissions & ${sql.lit(decidingMask)}) <> 0))`;

function requiredEnd(dialect: Dialect): RawBuilder<string> {
  const byDuration = dialect.later(nowParameter, sql.ref("r.durationSeconds"));
  return sql<string>`case
    when n.ends_at is null then ${nowParameter}
    when r.duration_seconds is null or n.ends_at < ${byDuration} then n.ends_at
    else ${byDuration} end`;
}

function isUnmet(principal: PrincipalExpression): RawBuilder<SqlBool> {
  const ends = sql.ref<string>("need.ends");
  const subject = sql.ref<string>("need.subjectId");
  const access = sql<number>`coalesce((
    select bit_or(held.organization_access) from ${actorTeams(organizationId, principal, ends)} as mine
    cross join teams as held where held.id = mine.team_id and held.organization_id = ${organizationId}), 0)`;
  const everywhere = organizationWideMaskSql(access);
  const onProject = (projectId: Expression<string>, until: Expression<string> = ends) =>
    sql<number>`coalesce(${projectGrantMask(organizationId, projectId, principal, until)}, 0)`;
  const onWorkspace = (workspaceId: Expression<string>, until: Expression<string> = ends) =>
    sql<number>`coalesce(${workspaceGrantMask(organizationId, workspaceId, principal, until)}, 0)`;
  const projectOf = (workspaceId: Expression<string>) =>
    sql<string>`(select w.project_id from workspaces as w where w.id = ${workspaceId})`;
  const granted = sql<string>`case when g.expires_at < ${ends} then g.expires_at else ${ends} end`;
  const workspace = sql.ref<string>("g.workspaceId");
  return sql<SqlBool>`case need.kind
    when 'organization' then (need.mask & ~${access}) <> 0
    when 'project' then (need.mask & ~(${everywhere} | ${onProject(subject)})) <> 0
    when 'workspace' then
      (need.mask & ~(${everywhere} | ${onProject(sql`coalesce(${projectOf(subject)}, need.project_id)`)} | ${onWorkspace(subject)})) <> 0
    when 'team' then not exists (
      select 1 from teams as t where t.id = need.subject_id
        and (${teamIsVisibleTo(principal, { seesSecretTeams: false })}
          or (${access} & ${sql.lit(organizationBit("access-secret-teams"))}) <> 0))
    else exists (
        select 1 from teams as t where t.id = need.subject_id and (t.organization_access & ~${access}) <> 0)
      or exists (
        select 1 from team_projects as g
        where g.organization_id = ${organizationId} and g.team_id = need.subject_id and ${inForce("g")}
          and (g.permissions & ~(${everywhere} | ${onProject(sql.ref("g.projectId"), granted)})) <> 0)
      or exists (
        select 1 from team_workspaces as g
        where g.organization_id = ${organizationId} and g.team_id = need.subject_id and ${inForce("g")}
          and (g.permissions & ~(${everywhere} | ${onProject(projectOf(workspace), granted)}
            | ${onWorkspace(workspace, granted)})) <> 0)
    end`;
}
