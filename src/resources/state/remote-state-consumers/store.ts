/** SQL of remote-state consumers: one statement per function, for any number of consumers. */
import { type Kysely, type RawBuilder, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { now } from "../../../kernel/time.ts";
import { projectGrants, standingColumns, type StandingInput, workspaceGrants } from "../../shared/grants/reads.ts";
import { readableCondition } from "../../register/workspaces/reads.ts";
import { lockClause } from "../../shared/locks.ts";
import type { SharingWorkspace } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

interface SharingRow extends OrganizationTable, StandingInput {
  readonly workspaceId: string;
  readonly projectId: string;
  readonly globalRemoteState: number;
  readonly projectRemoteState: number;
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

function sharingForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .selectAll("o")
    .select(["w.id as workspaceId", "w.projectId", "w.globalRemoteState", "w.projectRemoteState"])
    .select(standingColumns(sql.ref("w.organizationId"), principal))
    .select(projectGrants(sql.ref("w.organizationId"), sql.ref("w.projectId"), principal))
    .select(workspaceGrants(sql.ref("w.organizationId"), sql.ref("w.id"), principal));
}

const byId = prepared<{ id: string; principal: string }, SharingRow>((db, { id, principal }) =>
  sharingForActor(db, principal).where("w.id", "=", id),
);

export async function findSharing(tx: Tx, actor: Actor, id: string): Promise<SharingWorkspace | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  if (row === undefined) return undefined;
  const { workspaceId, projectId, globalRemoteState, projectRemoteState, ...rest } = row;
  const { projectAccess, workspaceAccess, ...organization } = rest;
  const standing = checkedStandingOf(actor, { ...row, organizationId: row.id });
  return {
    id: workspaceId,
    projectId,
    globalRemoteState,
    projectRemoteState,
    access: effectiveAccess(standing.organizationWideMask, projectAccess, workspaceAccess),
    organization: { ...organization, standing },
  };
}

/** A condition on workspaces `w`. */
export function consumersOf(workspace: SharingWorkspace): RawBuilder<boolean> {
  const { id, projectId, globalRemoteState, projectRemoteState } = workspace;
  if (globalRemoteState === 1) return sql<boolean>`w.id <> ${id}`;
  if (projectRemoteState === 1) return sql<boolean>`w.project_id = ${projectId} and w.id <> ${id}`;
  return sql<boolean>`w.id in (select consumer_id from remote_state_consumers where workspace_id = ${id})`;
}

export interface LockedConsumers {
  /** Undefined if the workspace was deleted concurrently. */
  readonly current: Pick<SharingWorkspace, "globalRemoteState" | "projectRemoteState"> | undefined;
  readonly readable: ReadonlySet<string>;
}

/** Locks in the order of ids: workspaces that add each other concurrently must not deadlock. */
export async function lockWithConsumers(
  tx: Tx,
  actor: Actor,
  { id, organization }: SharingWorkspace,
  consumerIds: readonly string[],
): Promise<LockedConsumers> {
  const condition = readableCondition(actor, organization) ?? sql<boolean>`1 = 1`;
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select(["w.id", "w.globalRemoteState", "w.projectRemoteState"])
    .where("w.organizationId", "=", organization.id)
    .where(tx.dialect.isOneOf(sql.ref("w.id"), [id, ...consumerIds]))
    .where(condition)
    .orderBy("w.id")
    .modifyEnd(lockClause(tx.dialect, "w", "change"))
    .execute();
  return { current: rows.find((row) => row.id === id), readable: new Set(rows.map((row) => row.id)) };
}

type ChangeableWorkspace = Granted<SharingWorkspace, "can-update">;

/** Returns the added ids. */
export async function insertConsumers(
  tx: Tx,
  { id, organization }: ChangeableWorkspace,
  ids: readonly string[],
): Promise<string[]> {
  const result = await sql<{ consumerId: string }>`
    insert into remote_state_consumers (organization_id, workspace_id, consumer_id, created_at)
    select w.organization_id, ${id}, w.id, ${now()} from workspaces as w
    where w.organization_id = ${organization.id} and ${tx.dialect.isOneOf(sql.ref("w.id"), ids)}
    on conflict do nothing returning consumer_id`.execute(tx.db);
  return idsOf(result.rows);
}

export async function deleteConsumers(tx: Tx, { id }: ChangeableWorkspace, ids: readonly string[]): Promise<string[]> {
  const result = await sql<{ consumerId: string }>`
    delete from remote_state_consumers
    where workspace_id = ${id} and ${tx.dialect.isOneOf(sql.ref("consumer_id"), ids)} returning consumer_id`.execute(
    tx.db,
  );
  return idsOf(result.rows);
}

export async function deleteOtherConsumers(
  tx: Tx,
  { id }: ChangeableWorkspace,
  kept: readonly string[],
): Promise<string[]> {
  const result = await sql<{ consumerId: string }>`
    delete from remote_state_consumers
    where workspace_id = ${id} and not ${tx.dialect.isOneOf(sql.ref("consumer_id"), kept)} returning consumer_id`.execute(
    tx.db,
  );
  return idsOf(result.rows);
}

const idsOf = (rows: readonly { consumerId: string }[]): string[] => rows.map((row) => row.consumerId).toSorted();
