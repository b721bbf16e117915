/** SQL of notification configurations, and of the subscribers to a workspace's events. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import { teamPermissions } from "../../../access/permissions/organization.ts";
import { projectPermissions } from "../../../access/permissions/project.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { maskRequirementFor } from "../../../access/reach.ts";
import type { Tx } from "../../../database/database.ts";
import type { Dialect } from "../../../database/dialect.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { NotificationConfigurationTable } from "../../../database/schema/notices.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import {
  projectGrants,
  standingColumns,
  type StandingInput,
  workspacePermissionInputOf,
  workspaceGrants,
} from "../../shared/grants/reads.ts";
import { includesActor } from "../../identity/teams/visibility.ts";
import { invitedMembershipId, invitedUserId } from "../../identity/users/definition.ts";
import { organizationWideMaskSql, meetsRequirementSql, bigintMask } from "../../shared/grants/sums.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import type { SubscriberRow } from "../../shared/outbox/writes.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import type { NamedMember } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

/** `memberIds` are joined by commas: user ids, and membership ids of invited people. */
export interface ConfigurationRow extends NotificationConfigurationTable {
  readonly memberIds: string | null;
}

export type ManagedRow<Row> = Granted<Row, "can-update">;
/** Proof that the caller can read what the messages are about. */
export type NotifiableRow<Row> = Granted<Row, "can-notify">;

const configurations = (db: Kysely<Schema>) =>
  db
    .selectFrom("notificationConfigurations as c")
    .innerJoin("organizations as o", openWithId("c.organizationId"))
    .selectAll("c")
    .select(
      sql<string | null>`(
        select string_agg(coalesce(m.user_id, m.id), ',') from notification_configuration_members as recipient
        inner join organization_memberships as m on m.id = recipient.membership_id
        where recipient.notification_configuration_id = c.id)`.as("memberIds"),
    );

export async function findConfiguration(tx: Tx, id: string): Promise<ConfigurationRow | undefined> {
  return configurations(tx.db).where("c.id", "=", id).executeTakeFirst();
}

export interface ConfigurationForActor extends ConfigurationRow {
  readonly standing: OrganizationStanding;
  readonly isVisible: boolean;
  readonly isManaged: boolean;
}

export async function findConfigurationForActor(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<ConfigurationForActor | undefined> {
  const principal = principalOf(actor);
  const organizationId = sql.ref<string>("c.organizationId");
  const row = await configurations(tx.db)
    .leftJoin("workspaces as w", "w.id", "c.workspaceId")
    .leftJoin("teams as t", "t.id", "c.teamId")
    .select(["o.allowForceDeleteWorkspaces", "t.isOwners", "t.visibility", "t.allowMemberTokenManagement"])
    .select(standingColumns(organizationId, principal))
    .select(projectGrants(organizationId, sql`coalesce(w.project_id, c.project_id)`, principal))
    .select(workspaceGrants(organizationId, sql.ref("c.workspaceId"), principal))
    .select(includesActor(principal).as("includesActor"))
    .where("c.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "c", lock))
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const standing = checkedStandingOf(actor, row);
  return { ...row, standing, ...accessOf(actor, standing, row) };
}

interface SubscribableAccessRow
  extends StandingInput, Pick<NotificationConfigurationTable, "organizationId" | "teamId" | "projectId"> {
  readonly allowForceDeleteWorkspaces: number;
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
  readonly isOwners: number | null;
  readonly visibility: string | null;
  readonly allowMemberTokenManagement: number | null;
  readonly includesActor: number;
}

function accessOf(
  actor: Actor,
  standing: OrganizationStanding,
  row: SubscribableAccessRow,
): Pick<ConfigurationForActor, "isVisible" | "isManaged"> {
  if (row.teamId !== null) {
    const permissions = teamPermissions(standing, {
      isOwners: row.isOwners ?? 0,
      visibility: row.visibility ?? "",
      allowMemberTokenManagement: row.allowMemberTokenManagement ?? 0,
      includesActor: row.includesActor,
    });
    return { isVisible: permissions["can-read"], isManaged: permissions["can-update"] };
  }
  if (row.projectId !== null) {
    const permissions = projectPermissions(effectiveAccess(standing.organizationWideMask, row.projectAccess));
    return { isVisible: permissions["can-read"], isManaged: permissions["can-update"] };
  }
  const permissions = workspacePermissions(workspacePermissionInputOf(actor, row));
  return { isVisible: permissions["can-read-settings"], isManaged: permissions["can-update"] };
}

interface SubscribableReference {
  readonly organizationId: string;
  readonly id: string;
}

export async function listConfigurations(
  tx: Tx,
  { organizationId, id }: SubscribableReference,
  page: Page | undefined,
): Promise<{ rows: ConfigurationRow[]; totalCount?: number }> {
  const rows = configurations(tx.db).where("c.organizationId", "=", organizationId).where("c.subscribableId", "=", id);
  if (page === undefined) return { rows: await rows.orderBy("c.createdAt").orderBy("c.id").execute() };
  const order = [{ column: "c.createdAt" }, { column: "c.id" }];
  const totals = { totalCount: countOf(rows.clearSelect().select("c.id")) };
  const found = await fetchPage(tx, { rows, order, page, totals });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}

export async function countConfigurations(tx: Tx, { organizationId, id }: SubscribableReference): Promise<number> {
  const row = await tx.db
    .selectFrom("notificationConfigurations")
    .select((select) => select.fn.countAll().as("count"))
    .where("organizationId", "=", organizationId)
    .where("subscribableId", "=", id)
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

export async function findMembers(tx: Tx, organizationId: string, userIds: readonly string[]): Promise<NamedMember[]> {
  if (userIds.length === 0) return [];
  const { isOneOf } = tx.dialect;
  const rows = await tx.db
    .selectFrom("organizationMemberships")
    .select(["id", "userId"])
    .where("organizationId", "=", organizationId)
    .where((where) =>
      where.or([
        isOneOf(sql.ref("userId"), userIds),
        where.and([where("userId", "is", null), isOneOf(sql.ref("id"), userIds.map(invitedMembershipId))]),
      ]),
    )
    .execute();
  return rows.map(({ id, userId }) => ({
    membershipId: id,
    userId: userId ?? invitedUserId(id),
    isInvited: userId === null,
  }));
}

export async function insertConfiguration(
  tx: Tx,
  _into: NotifiableRow<object>,
  row: NotificationConfigurationTable,
): Promise<void> {
  await insertRow(tx, "notificationConfigurations", row);
}

export async function updateConfiguration(
  tx: Tx,
  { id }: NotifiableRow<Pick<NotificationConfigurationTable, "id">>,
  changes: Partial<NotificationConfigurationTable>,
): Promise<void> {
  await updateRow(tx, "notificationConfigurations", id, changes);
}

export async function insertMembers(
  tx: Tx,
  _into: NotifiableRow<object>,
  { id, organizationId }: SubscribableReference,
  members: readonly NamedMember[],
): Promise<void> {
  if (members.length === 0) return;
  const rows = members.map(({ membershipId }) => ({ organizationId, notificationConfigurationId: id, membershipId }));
  await tx.db
    .insertInto("notificationConfigurationMembers")
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Inserts before it deletes: removing a membership locks it before these rows, so the opposite order could deadlock. */
export async function replaceMembers(
  tx: Tx,
  configuration: NotifiableRow<SubscribableReference>,
  members: readonly NamedMember[],
): Promise<void> {
  await insertMembers(tx, configuration, configuration, members);
  const isStillNamed = tx.dialect.isOneOf(
    sql.ref("membershipId"),
    members.map(({ membershipId }) => membershipId),
  );
  await tx.db
    .deleteFrom("notificationConfigurationMembers")
    .where("notificationConfigurationId", "=", configuration.id)
    .where((where) => where.not(isStillNamed))
    .execute();
}

export async function deleteConfiguration(tx: Tx, { id }: ManagedRow<SubscribableReference>): Promise<void> {
  await tx.db.deleteFrom("notificationConfigurations").where("id", "=", id).execute();
}

export async function recordLastDelivery(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  lastDelivery: string,
): Promise<void> {
  await tx.db
    .updateTable("notificationConfigurations")
    .set({ ...incrementedVersion, lastDelivery })
    .where("id", "=", id)
    .execute();
}

const readRunsRequirement = maskRequirementFor("workspace", "can-read-run", {
  owner: false,
  allowForceDeleteWorkspaces: 0,
});

export function subscribersTo({ isOneOf }: Dialect, workspaceIds: readonly string[]): RawBuilder<SubscriberRow> {
  const isWorkspace = isOneOf(sql.ref("w.id"), workspaceIds);
  const requirement = { sees: bigintMask(readRunsRequirement.sees), any: bigintMask(readRunsRequirement.any) };
  const columns = sql`c.id, c.organization_id, c.destination, c.triggers as event_names, w.id as resource_id,
    o.name || '/' || w.name as place`;
  const mask = sql<number>`(${organizationWideMaskSql(sql.ref("t.organization_access"))}
    | coalesce((select bit_or(g.permissions) from team_projects as g
        where g.team_id = t.id and g.project_id = w.project_id and ${inForce("g")}), 0)
    | coalesce((select bit_or(g.permissions) from team_workspaces as g
        where g.team_id = t.id and g.workspace_id = w.id and ${inForce("g")}), 0))`;
  return sql<SubscriberRow>`
    select ${columns} from workspaces as w
    inner join open_organizations as o on o.id = w.organization_id
    inner join notification_configurations as c
      on c.organization_id = w.organization_id and c.subscribable_id in (w.id, w.project_id) and c.enabled = 1
    where ${isWorkspace}
    union all
    select ${columns} from workspaces as w
    inner join open_organizations as o on o.id = w.organization_id
    inner join notification_configurations as c
      on c.organization_id = w.organization_id and c.team_id is not null and c.enabled = 1
    inner join teams as t on t.id = c.team_id
    where ${isWorkspace} and ${meetsRequirementSql(mask, requirement)}`;
}

export interface RequestSubject {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly requestId: string;
  readonly eventName: string;
}

/** The configurations of the teams that `teamIds` selects. */
export function subscribersOfTeams(
  { contains }: Dialect,
  { organizationId, organizationName, requestId, eventName }: RequestSubject,
  teamIds: RawBuilder<string>,
): RawBuilder<SubscriberRow> {
  return sql<SubscriberRow>`
    select c.id, c.organization_id, c.destination, c.triggers as event_names, cast(${requestId} as text) as resource_id,
      cast(${organizationName} as text) as place
    from notification_configurations as c
    where c.organization_id = ${organizationId} and c.team_id is not null and c.enabled = 1
      and ${contains(sql`c.triggers`, sql`cast(${`"${eventName}"`} as text)`)} and c.team_id in ${teamIds}`;
}

/** Includes invited people; without recipients, all members of the team. */
export async function findRecipients(tx: Tx, id: string): Promise<string[]> {
  const result = await sql<{ email: string }>`
    select coalesce(u.email, m.email) as email from notification_configuration_members as recipient
    inner join organization_memberships as m on m.id = recipient.membership_id
    left join users as u on u.id = m.user_id
    where recipient.notification_configuration_id = ${id}
    union
    select u.email as email from notification_configurations as c
    inner join team_members as tm on tm.team_id = c.team_id and ${inForce("tm")}
    inner join organization_memberships as m on m.id = tm.membership_id and m.status = 'active'
    inner join users as u on u.id = tm.user_id
    where c.id = ${id} and not exists (
      select 1 from notification_configuration_members as recipient where recipient.notification_configuration_id = c.id)
    order by email`.execute(tx.db);
  return result.rows.map(({ email }) => email);
}
