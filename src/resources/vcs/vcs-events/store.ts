/** SQL for webhook deliveries and for events: what a delivery, a new connection or a failure led to in one workspace. */
import type { ConnectedWorkspace } from "../../shared/hooks.ts";
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { VcsDeliveryTable, VcsEventTable } from "../../../database/schema/vcs.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type { VcsEventView } from "./definition.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

export interface VcsEventFilter {
  readonly outcome?: string | undefined;
  readonly levels?: readonly string[] | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly clientIds?: readonly string[] | undefined;
}

type VcsEventScope = { readonly organizationId: string } | { readonly workspaceId: string };

export async function pageOfEvents(
  tx: Tx,
  scope: VcsEventScope,
  { outcome, levels, from, to, clientIds }: VcsEventFilter,
  page: Page,
): Promise<{ views: VcsEventView[]; totalCount: number }> {
  const level = sql<string>`case when e.outcome = 'failed' then 'error' else 'info' end`;
  let found = tx.db.selectFrom("vcsEvents as e");
  found =
    "workspaceId" in scope
      ? found.where("e.workspaceId", "=", scope.workspaceId)
      : found.where("e.organizationId", "=", scope.organizationId);
  if (from !== undefined) found = found.where("e.createdAt", ">=", from);
  if (to !== undefined) found = found.where("e.createdAt", "<=", to);
  if (outcome !== undefined) found = found.where("e.outcome", "=", outcome);
  if (levels !== undefined) found = found.where(tx.dialect.isOneOf(level, levels));
  if (clientIds !== undefined) found = found.where(tx.dialect.isOneOf(sql.ref("e.oauthClientId"), clientIds));
  const { rows, totals } = await fetchPage(tx, {
    rows: found.selectAll("e"),
    order: [
      { column: "e.createdAt", descending: true },
      { column: "e.id", descending: true },
    ],
    page,
    totals: { totalCount: countOf(found.select("e.id")) },
  });
  return { views: rows, totalCount: totals.totalCount };
}

/** Lock order: by id. Locked workspaces can't be deleted. */
export async function lockWorkspacesOf(tx: Tx, oauthClientId: string, repository: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .innerJoin("oauthTokens as t", "t.id", "w.vcsOauthTokenId")
    .select("w.id")
    .where("t.oauthClientId", "=", oauthClientId)
    .where(sql<boolean>`lower(w.vcs_identifier) = ${repository.toLowerCase()}`)
    .orderBy("w.id")
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .modifyEnd(tx.dialect.lockRows("w", "reference"))
    .execute();
  return rows.map(({ id }) => id);
}

/** Returns the ids of those that were not stored before. */
export async function insertDeliveries(
  tx: Tx,
  by: Capability<"webhook">,
  rows: readonly VcsDeliveryTable[],
): Promise<ReadonlySet<string>> {
  const inserted = await tx.db
    .insertInto("vcsDeliveries")
    .values(rows.map((row) => by.proofFor(row)))
    .onConflict((conflict) => conflict.columns(["oauthClientId", "deliveryKey", "position"]).doNothing())
    .returning("id")
    .execute();
  return new Set(inserted.map(({ id }) => id));
}

export type VcsEventAuthor =
  | Capability<"webhook" | "job">
  | Granted<ConnectedWorkspace, "can-update" | "can-create-workspace">;

export async function insertEvents(tx: Tx, _by: VcsEventAuthor, rows: readonly VcsEventTable[]): Promise<void> {
  // Databases limit the number of values in a statement.
  for (let at = 0; at < rows.length; at += 500)
    await tx.db
      .insertInto("vcsEvents")
      .values(rows.slice(at, at + 500))
      .execute();
}

export interface UndecidedEvent extends VcsEventTable {
  /** Null without a delivery, or if the connection was deleted. */
  readonly repositoryEventJson: string | null;
  readonly provider: string | null;
}

const undecided = (tx: Tx) =>
  tx.db
    .selectFrom("vcsEvents as e")
    .leftJoin("vcsDeliveries as d", "d.id", "e.deliveryId")
    .leftJoin("oauthClients as c", "c.id", "e.oauthClientId")
    .selectAll("e")
    .select(["d.happening as repositoryEventJson", "c.serviceProvider as provider"])
    .where("e.outcome", "is", null)
    .where(isInOpenOrganization("e.organizationId"));

export interface BusySlots {
  readonly workspaceIds: readonly string[];
  readonly oauthClientIds: readonly string[];
}

/** Only the earliest of each workspace. A retry does not delay later events; `findEarlierEvents` keeps runs in order. */
export async function findDueEvents(
  tx: Tx,
  { workspaceIds, oauthClientIds }: BusySlots,
  limit: number,
): Promise<UndecidedEvent[]> {
  const isDue = (event: string) => sql<boolean>`${sql.ref(`${event}.due_ms`)} <= ${tx.dialect.nowMs}`;
  return undecided(tx)
    .where(isDue("e"))
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("e.workspaceId"), workspaceIds)))
    .where((where) => where.not(tx.dialect.isOneOf(sql`coalesce(e.oauth_client_id, '')`, oauthClientIds)))
    .where(
      sql<boolean>`not exists (
        select 1 from vcs_events as earlier where earlier.workspace_id = e.workspace_id and earlier.outcome is null
        and ${isDue("earlier")} and (earlier.created_at, earlier.id) < (e.created_at, e.id))`,
    )
    .orderBy("e.dueMs")
    .orderBy("e.id")
    .limit(limit)
    .execute();
}

export async function findEarlierEvents(
  tx: Tx,
  { id, createdAt, workspaceId, pullRequest }: VcsEventTable,
): Promise<UndecidedEvent[]> {
  return undecided(tx)
    .where("e.workspaceId", "=", workspaceId)
    .where("e.pullRequest", pullRequest === null ? "is" : "=", pullRequest)
    .where(sql<boolean>`(e.created_at, e.id) < (${createdAt}, ${id})`)
    .modifyEnd(tx.dialect.lockRows("e"))
    .execute();
}

export async function lockUndecided(tx: Tx, id: string): Promise<VcsEventTable | undefined> {
  return tx.db
    .selectFrom("vcsEvents as e")
    .selectAll("e")
    .where("e.id", "=", id)
    .where("e.outcome", "is", null)
    .modifyEnd(tx.dialect.lockRows("e"))
    .executeTakeFirst();
}

export async function updateEvent(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  changes: Partial<VcsEventTable>,
): Promise<void> {
  await updateRow(tx, "vcsEvents", id, changes);
}

export async function postponeEvent(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  { attempts, detail, waitMs }: { readonly attempts: number; readonly detail: string; readonly waitMs: number },
): Promise<void> {
  await updateRow(tx, "vcsEvents", id, { attempts, detail, dueMs: sql`${tx.dialect.nowMs} + ${waitMs}` });
}

export async function findRunOfSameCommit(
  tx: Tx,
  { id, workspaceId, commitSha, kind, tag, pullRequest }: VcsEventTable,
): Promise<string | undefined> {
  if (workspaceId === null || commitSha === null) return undefined;
  const row = await tx.db
    .selectFrom("vcsEvents")
    .select("runId")
    .where("workspaceId", "=", workspaceId)
    .where("commitSha", "=", commitSha)
    .where("outcome", "=", "started")
    .where("id", "<>", id)
    .where((where) =>
      kind === "pull-request"
        ? where("pullRequest", "=", pullRequest)
        : kind === "tag"
          ? where("tag", "=", tag)
          : where("kind", "in", ["push", "connection"]),
    )
    .limit(1)
    .executeTakeFirst();
  return row?.runId ?? undefined;
}

export async function findOutdatedRuns(tx: Tx, workspaceId: string, pullRequest: number): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("vcsEvents as e")
    .innerJoin("runs as r", "r.id", "e.runId")
    .select("r.id")
    .where("e.workspaceId", "=", workspaceId)
    .where("e.pullRequest", "=", pullRequest)
    .where("r.endedAt", "is", null)
    .orderBy("r.id")
    .execute();
  return rows.map(({ id }) => id);
}

export async function hasManualRun(tx: Tx, workspaceId: string, organizationId: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("runs")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("workspaceId", "=", workspaceId)
    .where("triggerReason", "=", "manual")
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function deleteOldEvents(tx: Tx, _by: Capability<"job">, before: string, limit: number): Promise<number> {
  const events = await sql`delete from vcs_events where id in (
    select id from vcs_events where created_at < ${before} order by created_at limit ${limit})`.execute(tx.db);
  const deliveries = await sql`delete from vcs_deliveries where id in (
    select id from vcs_deliveries where created_at < ${before} order by created_at limit ${limit})`.execute(tx.db);
  return Number(events.numAffectedRows ?? 0) + Number(deliveries.numAffectedRows ?? 0);
}
