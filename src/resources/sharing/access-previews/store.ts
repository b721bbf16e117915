/** SQL of access previews. It must not write. */
import { sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import { permissionBit } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import type { Context } from "../../shared/context.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { hasWorkspaceGrant, projectGrants } from "../../shared/grants/reads.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import type { ReferencedType } from "./changes.ts";
import { namedMax } from "./definition.ts";

/** A membership in several teams has several rows. */
export interface ReferencedRow {
  readonly type: ReferencedType;
  readonly id: string;
  readonly name: string | null;
  readonly teamId: string | null;
  readonly projectId: string | null;
  readonly userId: string | null;
  /** Of a record: its project or workspace. */
  readonly targetId: string | null;
}

export async function findReferenced(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
  workspaceNames: readonly string[],
): Promise<ReferencedRow[]> {
  const isNamed = (column: string) =>
    sql`organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref(column), ids)}`;
  const none = sql`cast(null as text)`;
  const found = await sql<ReferencedRow>`
    select 'teams' as type, id, ${none} as name, id as team_id, ${none} as project_id, ${none} as user_id,
      ${none} as target_id
      from teams where ${isNamed("id")}
    union all
    select 'projects', id, ${none}, ${none}, id, ${none}, ${none} from projects where ${isNamed("id")}
    union all
    select 'workspaces', id, name, ${none}, project_id, ${none}, ${none} from workspaces where ${isNamed("id")}
    union all
    select 'workspaces', id, name, ${none}, project_id, ${none}, ${none} from workspaces
      where organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("name"), workspaceNames)}
    union all
    select 'team-projects', r.id, ${none}, r.team_id, r.project_id, ${none}, r.project_id
      from team_projects as r
      where r.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("r.id"), ids)} and ${inForce("r")}
    union all
    select 'team-workspaces', r.id, ${none}, r.team_id, w.project_id, ${none}, r.workspace_id
      from team_workspaces as r inner join workspaces as w on w.id = r.workspace_id
      where r.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("r.id"), ids)} and ${inForce("r")}
    union all
    select 'organization-memberships', m.id, ${none}, tm.team_id, ${none}, m.user_id, ${none}
      from organization_memberships as m
      left join team_members as tm on tm.membership_id = m.id and ${inForce("tm")}
      where m.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("m.id"), ids)}`.execute(tx.db);
  return found.rows;
}

export async function teamsOnProjects(
  tx: Tx,
  organizationId: string,
  projectIds: readonly string[],
): Promise<string[]> {
  const found = await tx.db
    .selectFrom("teamProjects as r")
    .select("r.teamId")
    .distinct()
    .where("r.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("r.projectId"), projectIds))
    .where(inForce("r"))
    .execute();
  return found.map(({ teamId }) => teamId);
}

export interface PreviewTeamRow {
  readonly id: string;
  readonly name: string;
  readonly organizationAccess: number;
  /** 1 if its members can manage its tokens. */
  readonly allowMemberTokenManagement: number;
  readonly isVisible: number;
}

export async function findTeams(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organization: OrganizationView,
  ids: readonly string[],
): Promise<PreviewTeamRow[]> {
  const visible = teamIsVisible(actor, organization.standing);
  return tx.db
    .selectFrom("teams as t")
    .select(["t.id", "t.name", "t.organizationAccess", "t.allowMemberTokenManagement"])
    .select(sql<number>`case when ${visible} then 1 else 0 end`.as("isVisible"))
    .where("t.organizationId", "=", organization.id)
    .where(tx.dialect.isOneOf(sql.ref("t.id"), ids))
    .execute();
}

export interface TeamMembershipRow {
  readonly teamId: string;
  readonly userId: string;
  readonly expiresAt: string | null;
  /** Of a member that a group of an identity provider added. */
  readonly ssoProviderId: string | null;
}

/** Invited users don't count yet. */
export async function findMemberships(
  tx: Tx,
  organizationId: string,
  by: "teamId" | "userId",
  ids: readonly string[],
): Promise<TeamMembershipRow[]> {
  const found = await tx.db
    .selectFrom("teamMembers as m")
    .select(["m.teamId", "m.userId", "m.expiresAt", "m.ssoProviderId"])
    .where("m.organizationId", "=", organizationId)
    .where("m.userId", "is not", null)
    .where(tx.dialect.isOneOf(sql.ref(`m.${by}`), ids))
    .where(inForce("m"))
    .execute();
  return found as TeamMembershipRow[];
}

export interface PersonRow {
  readonly id: string;
  readonly name: string;
  readonly isSiteAdmin: number;
  readonly isMember: number;
}

export async function findPeople(tx: Tx, organizationId: string, ids: readonly string[]): Promise<PersonRow[]> {
  return tx.db
    .selectFrom("users as u")
    .select(["u.id", "u.username as name", "u.isSiteAdmin"])
    .select(
      sql<number>`(select count(*) from organization_memberships as m
        where m.organization_id = ${organizationId} and m.user_id = u.id and m.status = 'active')`.as("isMember"),
    )
    .where(tx.dialect.isOneOf(sql.ref("u.id"), ids))
    .execute();
}

export interface ProjectRecordRow {
  readonly teamId: string;
  readonly projectId: string;
  readonly permissions: number;
  readonly expiresAt: string | null;
}

export type ProjectScope = readonly string[] | "everywhere";

export async function findProjectRecords(
  tx: Tx,
  organizationId: string,
  teamIds: readonly string[],
  within: ProjectScope,
): Promise<ProjectRecordRow[]> {
  let rows = tx.db
    .selectFrom("teamProjects as r")
    .select(["r.teamId", "r.projectId", "r.permissions", "r.expiresAt"])
    .where("r.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("r.teamId"), teamIds))
    .where(inForce("r"));
  if (within !== "everywhere") rows = rows.where(tx.dialect.isOneOf(sql.ref("r.projectId"), within));
  return rows.execute();
}

export interface WorkspaceRecordRow extends PreviewWorkspaceRow {
  readonly teamId: string;
  readonly permissions: number;
  readonly expiresAt: string | null;
}

export interface PreviewWorkspaceRow {
  readonly workspaceId: string;
  readonly name: string;
  readonly projectId: string;
}

export async function findWorkspaceRecords(
  tx: Tx,
  organizationId: string,
  teamIds: readonly string[],
  within: ProjectScope,
): Promise<WorkspaceRecordRow[]> {
  let rows = tx.db
    .selectFrom("teamWorkspaces as r")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .select(["r.teamId", "r.workspaceId", "r.permissions", "r.expiresAt", "w.name", "w.projectId"])
    .where("r.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("r.teamId"), teamIds))
    .where(inForce("r"));
  if (within !== "everywhere") rows = rows.where(tx.dialect.isOneOf(sql.ref("w.projectId"), within));
  return rows.execute();
}

export async function findMovingWorkspaces(
  tx: Tx,
  organizationId: string,
  ids: readonly string[],
): Promise<PreviewWorkspaceRow[]> {
  return tx.db
    .selectFrom("workspaces as w")
    .select(["w.id as workspaceId", "w.name", "w.projectId"])
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("w.id"), ids))
    .execute();
}

export interface PreviewProjectRow {
  readonly id: string;
  readonly name: string;
  readonly workspaceCount: number;
  readonly projectAccess: number | null;
}

export async function findProjects(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationId: string,
  within: ProjectScope,
): Promise<PreviewProjectRow[]> {
  let rows = tx.db
    .selectFrom("projects as p")
    .select(["p.id", "p.name", "p.workspaceCount"])
    .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principalOf(actor)))
    .where("p.organizationId", "=", organizationId);
  if (within !== "everywhere") rows = rows.where(tx.dialect.isOneOf(sql.ref("p.id"), within));
  return rows.orderBy("p.name").orderBy("p.id").execute();
}

export async function readableAmong(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organization: OrganizationView,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  let rows = tx.db
    .selectFrom("workspaces as w")
    .select("w.id")
    .where("w.organizationId", "=", organization.id)
    .where(tx.dialect.isOneOf(sql.ref("w.id"), ids));
  const condition = readableCondition(actor, organization);
  if (condition !== undefined) rows = rows.where(condition);
  return new Set((await rows.execute()).map(({ id }) => id));
}

export async function individuallyGrantedWorkspaces(
  tx: Tx,
  { actor }: Pick<Context, "actor">,
  organizationId: string,
  projectIds: readonly string[],
): Promise<PreviewWorkspaceRow[]> {
  return tx.db
    .selectFrom("workspaces as w")
    .select(["w.id as workspaceId", "w.name", "w.projectId"])
    .where("w.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("w.projectId"), projectIds))
    .where(
      hasWorkspaceGrant(sql`${organizationId}`, sql.ref("w.id"), principalOf(actor), permissionBit("runs", "read")),
    )
    .execute();
}

export async function firstInProjects(
  tx: Tx,
  organizationId: string,
  projectIds: readonly string[],
  known: readonly string[],
): Promise<PreviewWorkspaceRow[]> {
  // Neither ids nor names of workspaces contain spaces or slashes.
  const found = await sql<{ projectId: string; listed: string | null }>`
    select p.id as project_id, (
      select string_agg(first.id || '/' || first.name, ' ') from (
        select w.id, w.name from workspaces as w
        where w.organization_id = ${organizationId} and w.project_id = p.id
          and not (${tx.dialect.isOneOf(sql.ref("w.id"), known)})
        order by w.name, w.id limit ${sql.lit(namedMax)}) as first) as listed
    from projects as p
    where p.organization_id = ${organizationId} and ${tx.dialect.isOneOf(sql.ref("p.id"), projectIds)}`.execute(tx.db);
  return found.rows.flatMap(({ projectId, listed }) =>
    (listed ?? "")
      .split(" ")
      .filter((entry) => entry !== "")
      .map((entry) => {
        const [workspaceId = "", name = ""] = entry.split("/");
        return { workspaceId, name, projectId };
      }),
  );
}
