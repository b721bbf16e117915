/** SQL of workspaces: loads them with the caller's access, and changes their own rows. */
import { type Expression, type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import { type Granted, withProofOf } from "../../../access/granted.ts";
import { noRestrictions } from "../../../access/organization.ts";
import { hasPermission } from "../../../access/permission-set.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import { insertRow, prepared } from "../../../database/prepared.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { fold } from "../../../kernel/text.ts";
import {
  hasProjectGrant,
  hasWorkspaceGrant,
  projectGrants,
  type StandingInput,
  workspaceAccessColumns,
  workspaceGrants,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { factsOf, type OrganizationView, ruledFactsColumns } from "../../identity/organizations/definition.ts";
import type { Context } from "../../shared/context.ts";
import { lockClause, type RowLock, lockableStatement } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedWhenChanged, updateRow } from "../../shared/versions.ts";
import type { ProjectView } from "../projects/definition.ts";
import { effectiveDuration } from "./auto-destroy.ts";
import { joinConnections, type ConnectedRow, type WorkspacesQuery } from "./connected.ts";
import { hasLeaseExpired, unlocked } from "./lock-holder.ts";
import type { ProjectOfNewWorkspace } from "./new-workspace.ts";
import { readRunsBit } from "./readable.ts";
import type { WorkspaceSearch } from "./search.ts";
import { type OrganizationSettings, webhookUrlOf, type WorkspaceView } from "./view.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

export type WorkspaceReference =
  | { readonly workspaceId: string }
  | { readonly organizationName: string; readonly workspaceName: string };

interface WorkspaceViewRow extends ConnectedRow, OrganizationSettings, StandingInput {
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

function workspaceForActor(db: Kysely<Schema>, principal: string) {
  return joinConnections(db.selectFrom("workspaces as w") as unknown as WorkspacesQuery)
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .innerJoin("accessVersions as a", "a.organizationId", "w.organizationId")
    .select([
      ...ruledFactsColumns,
      "o.version as organizationVersion",
      "a.version as accessVersion",
      "o.defaultExecutionMode",
      "o.defaultAgentPoolId",
      "o.defaultsVersion as organizationDefaultsVersion",
      "o.allowForceDeleteWorkspaces",
      "o.assessmentsEnforced",
    ])
    .select(workspaceAccessColumns(principal));
}

type WorkspaceIdQuery = { id: string; principal: string };
type WorkspaceNameQuery = { organizationKey: string; name: string; principal: string };

const byId = lockableStatement<WorkspaceIdQuery, WorkspaceViewRow>("w", (db, { id, principal }) =>
  workspaceForActor(db, principal).where("w.id", "=", id),
);
const byName = lockableStatement<WorkspaceNameQuery, WorkspaceViewRow>(
  "w",
  (db, { organizationKey, name, principal }) =>
    workspaceForActor(db, principal).where("o.nameKey", "=", organizationKey).where("w.name", "=", name),
);

export async function findWorkspace(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  reference: WorkspaceReference,
  lock: RowLock = false,
): Promise<WorkspaceView | undefined> {
  const principal = principalOf(actor);
  const [row] =
    "workspaceId" in reference
      ? await byId(tx, { id: reference.workspaceId, principal }, lock)
      : await byName(
          tx,
          { organizationKey: fold(reference.organizationName), name: reference.workspaceName, principal },
          lock,
        );
  if (row !== undefined) refuseMovedWorkspaces([row]);
  return row && toWorkspaceView(row, workspacePermissionInputOf(actor, row), options);
}

/** The project's columns are missing if another transaction moved the workspace while this one waited for its row. */
function refuseMovedWorkspaces(rows: readonly WorkspaceViewRow[]): void {
  if (rows.some((row) => row.projectDefaultsVersion === null))
    throw new RetryTransaction("the workspace was moved concurrently");
}

/** Locks in the order of ids, so that callers who lock the same workspaces can't deadlock. */
export async function findWorkspaces(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  ids: readonly string[],
  lock: RowLock = "change",
): Promise<WorkspaceView[]> {
  const rows = await workspaceForActor(tx.db, principalOf(actor))
    .where(tx.dialect.isOneOf(sql.ref("w.id"), ids))
    .orderBy("w.id")
    .modifyEnd(lockClause(tx.dialect, "w", lock))
    .execute();
  refuseMovedWorkspaces(rows);
  return rows.map((row) => toWorkspaceView(row, workspacePermissionInputOf(actor, row), options));
}

function toWorkspaceView(
  row: WorkspaceViewRow,
  facts: WorkspacePermissionInput,
  options: Context["options"],
): WorkspaceView {
  return {
    ...row,
    ...facts,
    ...(hasLeaseExpired(row) && { ...unlocked, expiredLock: row }),
    autoDestroyActivityDuration: effectiveDuration(row),
    edition: options.edition,
    webhookUrl: row.oauthClientId === null ? null : webhookUrlOf(options, row.oauthClientId),
  };
}

function workspacesOf(query: WorkspacesQuery, organization: OrganizationView, principal: string) {
  const organizationId = sql<string>`${organization.id}`;
  return joinConnections(query)
    .select(projectGrants(organizationId, sql.ref("w.projectId"), principal))
    .select(workspaceGrants(organizationId, sql.ref("w.id"), principal));
}

export function workspaceViewIn(
  row: ConnectedRow & { projectAccess: number | null; workspaceAccess: number | null },
  organization: OrganizationView,
  options: Context["options"],
): WorkspaceView {
  const { defaultExecutionMode, defaultAgentPoolId, allowForceDeleteWorkspaces, assessmentsEnforced, standing } =
    organization;
  const organizationColumns = {
    ...factsOf(organization),
    organizationDefaultsVersion: organization.defaultsVersion,
    defaultExecutionMode,
    defaultAgentPoolId,
    allowForceDeleteWorkspaces,
    assessmentsEnforced,
  };
  const access = effectiveAccess(standing.organizationWideMask, row.projectAccess, row.workspaceAccess);
  const workspaceFacts = { access, owner: standing.owner, allowForceDeleteWorkspaces };
  return toWorkspaceView(
    { ...row, ...organizationColumns, teamAccess: null, isMember: 0, ...noRestrictions },
    workspaceFacts,
    options,
  );
}

/** Not loaded: a new workspace has no grants, connections, lock or retention policy of its own yet. */
export function newWorkspaceView(
  row: WorkspaceTable,
  project: ProjectOfNewWorkspace,
  { edition }: Context["options"],
): WorkspaceView {
  const { inheritsProjectAutoDestroy, autoDestroyActivityDuration } = row;
  const projectDuration = project.autoDestroyActivityDuration;
  return {
    ...row,
    projectExecutionMode: project.defaultExecutionMode,
    projectAgentPoolId: project.defaultAgentPoolId,
    projectDuration,
    projectDefaultsVersion: project.defaultsVersion,
    oauthClientId: null,
    oauthClientName: null,
    serviceProvider: null,
    httpUrl: null,
    retentionId: null,
    retentionKind: null,
    organizationName: project.organizationName,
    organizationFactsVersion: project.organizationFactsVersion,
    organizationDefaultsVersion: project.organizationDefaultsVersion,
    defaultExecutionMode: project.organizationExecutionMode,
    defaultAgentPoolId: project.organizationAgentPoolId,
    allowForceDeleteWorkspaces: project.allowForceDeleteWorkspaces,
    assessmentsEnforced: project.assessmentsEnforced,
    access: project.access,
    owner: project.standing.owner,
    autoDestroyActivityDuration: effectiveDuration({
      inheritsProjectAutoDestroy,
      autoDestroyActivityDuration,
      projectDuration,
    }),
    edition,
    webhookUrl: null,
  };
}

/** A condition on `w`; undefined when the caller can read all workspaces. */
export function readableCondition(
  actor: Actor,
  organization: Pick<OrganizationView, "id" | "standing">,
): RawBuilder<boolean> | undefined {
  if (hasPermission(organization.standing.organizationWideMask, "runs", "read")) return undefined;
  const principal = principalOf(actor);
  const organizationId = sql<string>`${organization.id}`;
  return sql<boolean>`(${hasProjectGrant(organizationId, sql.ref("w.projectId"), principal, readRunsBit)}
    or ${hasWorkspaceGrant(organizationId, sql.ref("w.id"), principal, readRunsBit)})`;
}

export async function pageOfWorkspaces(
  tx: Tx,
  { actor, options }: Pick<Context, "actor" | "options">,
  organization: OrganizationView,
  condition: RawBuilder<boolean>,
  page: WorkspaceSearch["page"],
): Promise<{ views: WorkspaceView[]; totalCount: number }> {
  let matching = tx.db
    .selectFrom("workspaces as w")
    .where("w.organizationId", "=", organization.id)
    .where(condition) as unknown as WorkspacesQuery;
  const readableWorkspaces = readableCondition(actor, organization);
  if (readableWorkspaces !== undefined) matching = matching.where(readableWorkspaces);
  const { rows, totals } = await fetchPage(tx, {
    rows: workspacesOf(matching, organization, principalOf(actor)),
    order: [{ column: "w.name" }, { column: "w.id" }],
    page,
    totals: { totalCount: countOf(matching.select("w.id")) },
  });
  return { views: rows.map((row) => workspaceViewIn(row, organization, options)), totalCount: totals.totalCount };
}

export async function insertWorkspace(
  tx: Tx,
  into: Granted<ProjectView, "can-create-workspace">,
  row: WorkspaceTable,
): Promise<Granted<WorkspaceTable, "can-create-workspace">> {
  await insertRow(tx, "workspaces", row);
  return withProofOf(into, row);
}

/** In all organizations. */
export async function findExpiredLeases(tx: Tx, at: string, limit: number): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces")
    .select("id")
    .where("lockExpiresAt", "<=", at)
    .where(isInOpenOrganization("workspaces.organizationId"))
    .orderBy("lockExpiresAt")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export type WorkspaceWriter =
  | "can-update"
  | "can-lock"
  | "can-unlock"
  | "can-force-unlock"
  | "can-update-variable"
  | "can-manage-tags"
  | "lease-ended";

export async function updateWorkspaceRow(
  tx: Tx,
  workspace: Granted<WorkspaceView, WorkspaceWriter>,
  changes: Partial<WorkspaceTable>,
): Promise<void> {
  await updateRow(tx, "workspaces", workspace.id, {
    ...changes,
    ...incrementedWhenChanged(changes, "factsVersion", ["name"]),
  });
}

/** Foreign keys delete everything that belongs to the workspace. */
export async function deleteWorkspaceRow(
  tx: Tx,
  workspace: Granted<WorkspaceView, "can-destroy" | "can-force-delete">,
): Promise<void> {
  await tx.db.deleteFrom("workspaces").where("id", "=", workspace.id).execute();
}

export interface ReferenceLookup {
  readonly name?: string | undefined;
  readonly agentPoolId?: string | null | undefined;
  readonly oauthTokenId?: string | null | undefined;
  readonly sshKeyId?: string | null | undefined;
}

export type ReferencesFound = Readonly<Record<"nameTaken" | "agentPool" | "oauthToken" | "sshKey", boolean>>;
export type ReferenceCounts = Record<keyof ReferencesFound, number>;

export function referenceCounts(organizationId: Expression<string>, references: ReferenceLookup) {
  const count = (table: string, column: string, value: string | null | undefined) =>
    sql<number>`(select count(*) from ${sql.table(table)} where organization_id = ${organizationId} and ${sql.ref(column)} = ${value})`;
  return [
    count("workspaces", "name", references.name).as("nameTaken"),
    count("agent_pools", "id", references.agentPoolId).as("agentPool"),
    count("oauth_tokens", "id", references.oauthTokenId).as("oauthToken"),
    count("ssh_keys", "id", references.sshKeyId).as("sshKey"),
  ];
}

export const referencesFound = (counts: ReferenceCounts): ReferencesFound => ({
  nameTaken: Number(counts.nameTaken) > 0,
  agentPool: Number(counts.agentPool) > 0,
  oauthToken: Number(counts.oauthToken) > 0,
  sshKey: Number(counts.sshKey) > 0,
});

const countReferences = prepared<Required<ReferenceLookup> & { organizationId: string }, ReferenceCounts>((db, query) =>
  db.selectNoFrom(referenceCounts(sql<string>`${query.organizationId}`, query)),
);

export async function lookUpReferences(
  tx: Tx,
  organizationId: string,
  { name = "", agentPoolId = null, oauthTokenId = null, sshKeyId = null }: ReferenceLookup,
): Promise<ReferencesFound> {
  const [row] = await countReferences(tx, { organizationId, name, agentPoolId, oauthTokenId, sshKeyId });
  return referencesFound(row as ReferenceCounts);
}

/** A run can't be deleted before its workspace. */
export async function lockHolderExists(
  tx: Tx,
  { lockedByType, lockedById }: Pick<WorkspaceTable, "lockedByType" | "lockedById">,
): Promise<boolean> {
  if (lockedByType !== "users" && lockedByType !== "teams") return true;
  const holder = await tx.db.selectFrom(lockedByType).select("id").where("id", "=", lockedById).executeTakeFirst();
  return holder !== undefined;
}
