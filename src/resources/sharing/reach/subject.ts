/** SQL of a reach query's subject and totals, in one statement. It must not read all workspaces: projects have counters. */
import { type RawBuilder, sql } from "kysely";
import { type Actor, isSiteAdmin, principalOf } from "../../../access/actor.ts";
import { noRestrictions, checkedStandingOf, type StandingRow } from "../../../access/organization.ts";
import { allPermissions, type Mask } from "../../../access/permission-set.ts";
import { visibilityBits, type TargetKind } from "../../../access/reach.ts";
import type { Tx } from "../../../database/database.ts";
import { type PreparedStatement, prepared } from "../../../database/prepared.ts";
import { fold } from "../../../kernel/text.ts";
import { actorTeams, standingSelection } from "../../shared/grants/reads.ts";
import {
  bitsGivingSql,
  organizationWideMaskSql,
  meetsRequirementSql,
  grantTables,
  levelSql,
  isOwnerSql,
} from "../../shared/grants/sums.ts";

export type SubjectReference =
  | { readonly by: "team"; readonly id: string }
  | { readonly by: "user"; readonly id: string; readonly organizationName: string }
  | { readonly by: "token"; readonly id: string; readonly organizationName: string | undefined };

export interface ReachTally {
  readonly kind: TargetKind;
  readonly level: string;
  readonly isVisible: boolean;
  readonly count: number;
}

export interface SubjectRow extends Omit<StandingRow, "organizationId"> {
  readonly subjectKind: "user" | "team" | "organization" | "audit-trails";
  readonly subjectId: string | null;
  readonly subjectName: string | null;
  readonly subjectIsSiteAdmin: number;
  readonly subjectTeamAccess: number | null;
  readonly subjectIsMember: number;
  readonly userId: string | null;
  readonly teamId: string | null;
  readonly isOwners: number;
  readonly visibility: string;
  readonly allowMemberTokenManagement: number;
  readonly includesActor: number;
  readonly tokenCreatedAt: string | null;
  readonly tokenExpiredAt: string | null;
  readonly tokenMaxMs: number | null;
  readonly organizationId: string | null;
  readonly organizationName: string | null;
  readonly allowForceDeleteWorkspaces: number | null;
  readonly everything: number | null;
  /** `kind level visible count`, comma-separated. */
  readonly tallies: string | null;
}

type SubjectParameters = { id: string; nameKey: string; principal: string; callerMask: number };

const noTeam = sql`null as team_id, 0 as is_owners, 'secret' as visibility, 0 as allow_member_token_management`;
const noToken = sql`null as token_kind, null as token_created_at, null as token_expired_at`;

function subjectBy({ by }: SubjectReference, { id, nameKey }: SubjectParameters): RawBuilder<unknown> {
  if (by === "team") {
    return sql`select 'team' as subject_kind, t.id as subject_id, t.name as subject_name, 0 as subject_is_site_admin,
      null as user_id, t.id as team_id, t.is_owners, t.visibility, t.allow_member_token_management,
      ${noToken}, t.organization_id from teams as t where t.id = ${id}`;
  }
  if (by === "user") {
    return sql`select 'user' as subject_kind, u.id as subject_id, u.username as subject_name,
      coalesce(u.is_site_admin, 0) as subject_is_site_admin, u.id as user_id, ${noTeam}, ${noToken}, o.id as organization_id
      from open_organizations as o left join users as u on u.id = ${id} where o.name_key = ${nameKey}`;
  }
  return sql`select k.kind as subject_kind, coalesce(k.user_id, k.team_id, '') as subject_id,
    coalesce(u.username, t.name) as subject_name, coalesce(u.is_site_admin, 0) as subject_is_site_admin,
    k.user_id, k.team_id, coalesce(t.is_owners, 0) as is_owners, coalesce(t.visibility, 'secret') as visibility,
    coalesce(t.allow_member_token_management, 0) as allow_member_token_management,
    case when k.user_id is null then replace(k.kind, '-', '_') end as token_kind, k.created_at as token_created_at, k.expired_at as token_expired_at,
    coalesce(k.organization_id, (select id from open_organizations where name_key = ${nameKey})) as organization_id
    from tokens as k left join users as u on u.id = k.user_id left join teams as t on t.id = k.team_id where k.id = ${id}`;
}

const organizationId = sql<string>`(select organization_id from subject)`;
const subjectId = sql<string>`(select subject_id from subject)`;

const organizationTokenMask: Mask = checkedStandingOf(
  { kind: "organization", organizationId: "", name: "", tokenId: "" },
  { organizationId: "", teamAccess: null, isMember: 0, ...noRestrictions },
).organizationWideMask;

/** One row: the subject's and the caller's access to the whole organization, and the bits that give the queried permission. */
function principalsTable(permission: string | undefined, callerMask: number): RawBuilder<unknown> {
  const ownsByTeam = isOwnerSql(sql.ref("teams.subject_access"));
  const owner = sql<boolean>`(subject.subject_kind = 'organization' or subject.subject_is_site_admin = 1 or ${ownsByTeam})`;
  const allowForceDelete = sql<number>`o.allow_force_delete_workspaces`;
  return sql`select o.id as organization_id,
      case when subject.subject_kind = 'organization' then ${sql.lit(organizationTokenMask)}
        when subject.subject_kind = 'audit-trails' then 0
        when subject.subject_is_site_admin = 1 then ${sql.lit(allPermissions)}
        else ${organizationWideMaskSql(sql.ref("teams.subject_access"))} end as subject_mask,
      cast(${callerMask} as bigint) | ${organizationWideMaskSql(sql.ref("teams.caller_access"))} as caller_mask,
      ${bitsGivingSql("project", permission, { owner, allowForceDelete })} as project_bits,
      ${bitsGivingSql("workspace", permission, { owner, allowForceDelete })} as workspace_bits
    from subject cross join (
      select (select bit_or(t.organization_access) from s_own_teams cross join teams as t where t.id = s_own_teams.team_id) as subject_access,
        (select bit_or(t.organization_access) from c_own_teams cross join teams as t where t.id = c_own_teams.team_id) as caller_access) as teams
    inner join open_organizations as o on o.id = subject.organization_id`;
}

const sumTables = sql`
  per_project as materialized (
    select p.id as id, p.workspace_count as workspaces,
      principals.subject_mask | coalesce(sg.mask, 0) as subject_mask, principals.caller_mask | coalesce(cg.mask, 0) as caller_mask
    from principals cross join projects as p
    left join s_project_grants as sg on sg.project_id = p.id
    left join c_project_grants as cg on cg.project_id = p.id
    where p.organization_id = principals.organization_id),
  individual_grants as materialized (
    select workspace_id, bit_or(subject_mask) as subject_mask, bit_or(caller_mask) as caller_mask from (
      select workspace_id, mask as subject_mask, 0 as caller_mask from s_workspace_grants
      union all select workspace_id, 0 as subject_mask, mask as caller_mask from c_workspace_grants) as either
    group by workspace_id),
  per_workspace as materialized (
    select per_project.subject_mask as project_subject_mask, per_project.caller_mask as project_caller_mask,
      per_project.subject_mask | g.subject_mask as subject_mask, per_project.caller_mask | g.caller_mask as caller_mask
    from individual_grants as g cross join workspaces as w inner join per_project on per_project.id = w.project_id
    where w.id = g.workspace_id)`;

/** Counts workspaces with their project, except for those with records of their own. */
function tallies(): RawBuilder<unknown> {
  const counted = (kind: TargetKind, count: RawBuilder<unknown>, from: RawBuilder<unknown>, prefix = "") => {
    const [subject, caller] = [sql.ref<number>(`${prefix}subject_mask`), sql.ref<number>(`${prefix}caller_mask`)];
    const requirement = { sees: sql.lit(visibilityBits[kind]), any: sql.ref<number>(`needed.${kind}_bits`) };
    return sql`select ${sql.lit(kind)} as kind, ${levelSql(kind, subject)} as level,
      case when (${caller} & ${sql.lit(visibilityBits[kind])}) <> 0 then 1 else 0 end as visible, ${count} as n
      from ${from} cross join (select project_bits, workspace_bits from principals) as needed
      where ${meetsRequirementSql(subject, requirement)}`;
  };
  const parts = [
    counted("project", sql`1`, sql`per_project`),
    counted("workspace", sql`workspaces`, sql`per_project`),
    counted("workspace", sql`-1`, sql`per_workspace`, "project_"),
    counted("workspace", sql`1`, sql`per_workspace`),
  ];
  return sql`select kind || ' ' || level || ' ' || visible || ' ' || cast(sum(n) as bigint) as tally
    from (${sql.join(parts, sql` union all `)}) as parts group by kind, level, visible having sum(n) > 0`;
}

function statement(
  reference: SubjectReference,
  permission: string | undefined,
  p: SubjectParameters,
): RawBuilder<SubjectRow> {
  return sql<SubjectRow>`
    with subject as materialized (${subjectBy(reference, p)}),
    ${grantTables("s_", organizationId, subjectId)}, ${grantTables("c_", organizationId, p.principal)},
    principals as materialized (${principalsTable(permission, p.callerMask)}), ${sumTables}
    select subject.*, o.name as organization_name, o.allow_force_delete_workspaces,
      ${standingSelection(sql.ref("subject.organization_id"), p.principal)},
      (select bit_or(t.organization_access) from s_own_teams cross join teams as t where t.id = s_own_teams.team_id) as subject_team_access,
      (select count(*) from organization_memberships as m where m.organization_id = subject.organization_id
        and m.user_id = subject.user_id and m.status = 'active') as subject_is_member,
      case when subject.team_id in ${actorTeams(sql.ref("subject.organization_id"), p.principal)} then 1 else 0 end as includes_actor,
      case when o.max_ttl_enabled = 1 then (select max_ttl_ms from organization_token_ttl_policies as ttl
        where ttl.organization_id = o.id and ttl.token_type = subject.token_kind) end as token_max_ms,
      (select cast(sum(workspaces) as bigint) from per_project) as everything,
      (select string_agg(tally, ',') from (${tallies()}) as totals) as tallies
    from subject left join open_organizations as o on o.id = subject.organization_id`;
}

const compiled = new Map<string, PreparedStatement<SubjectParameters, SubjectRow>>();

function statementFor(
  reference: SubjectReference,
  permission: string | undefined,
): PreparedStatement<SubjectParameters, SubjectRow> {
  const key = `${reference.by} ${permission ?? ""}`;
  let found = compiled.get(key);
  if (found === undefined) {
    found = prepared<SubjectParameters, SubjectRow>((db, p) => {
      const text = statement(reference, permission, p);
      return { compile: () => text.compile(db) };
    });
    compiled.set(key, found);
  }
  return found;
}

function tokenMaskOf(actor: Actor): Mask {
  if (isSiteAdmin(actor)) return allPermissions;
  return actor.kind === "organization" ? organizationTokenMask : 0;
}

export async function findSubject(
  tx: Tx,
  actor: Actor,
  reference: SubjectReference,
  permission: string | undefined,
): Promise<SubjectRow | undefined> {
  const name = "organizationName" in reference ? reference.organizationName : undefined;
  const [row] = await statementFor(reference, permission)(tx, {
    id: reference.id,
    nameKey: fold(name ?? ""),
    principal: principalOf(actor),
    callerMask: tokenMaskOf(actor),
  });
  return row;
}

export function parseTallies(text: string | null): ReachTally[] {
  return (text ?? "")
    .split(",")
    .filter(Boolean)
    .map((entry) => {
      const [kind = "", level = "", visible, count] = entry.split(" ");
      return { kind: kind as TargetKind, level, isVisible: visible === "1", count: Number(count) };
    });
}
