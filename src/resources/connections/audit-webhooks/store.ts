/** SQL of audit webhooks, their queued events, and long-held locks. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import { type OrganizationStanding, checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { AuditEventTable } from "../../../database/schema/audit.ts";
import type { AuditWebhookTable } from "../../../database/schema/notices.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import {
  factsColumns,
  type OrganizationFacts,
  type OrganizationView,
} from "../../identity/organizations/definition.ts";
import { standingColumns } from "../../shared/grants/reads.ts";
import { lockClause, type RowLock } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedVersion, updateRow } from "../../shared/versions.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export interface AuditWebhookRow extends AuditWebhookTable, OrganizationFacts {
  readonly standing: OrganizationStanding;
}

const webhooks = (db: Kysely<Schema>) =>
  db
    .selectFrom("auditWebhooks as a")
    .innerJoin("organizations as o", openWithId("a.organizationId"))
    .select(factsColumns)
    .selectAll("a");

export async function findWebhook(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<AuditWebhookRow | undefined> {
  const row = await webhooks(tx.db)
    .select(standingColumns(sql.ref("a.organizationId"), principalOf(actor)))
    .where("a.id", "=", id)
    .modifyEnd(lockClause(tx.dialect, "a", lock))
    .executeTakeFirst();
  return row && { ...row, standing: checkedStandingOf(actor, row) };
}

export async function findWebhookToCall(tx: Tx, id: string): Promise<AuditWebhookTable | undefined> {
  return tx.db.selectFrom("auditWebhooks").selectAll().where("id", "=", id).executeTakeFirst();
}

export async function listWebhooks(
  tx: Tx,
  { id, standing }: OrganizationView,
  page: Page,
): Promise<{ rows: AuditWebhookRow[]; totalCount: number }> {
  const rows = webhooks(tx.db).where("a.organizationId", "=", id);
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "a.nameKey" }, { column: "a.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("a.id")) },
  });
  return { rows: found.rows.map((row) => ({ ...row, standing })), totalCount: found.totals.totalCount };
}

export async function insertWebhook(
  tx: Tx,
  _into: Granted<OrganizationView, "can-manage-auditing">,
  row: AuditWebhookTable,
): Promise<void> {
  await insertRow(tx, "auditWebhooks", row);
}

type ManagedWebhook = Granted<{ readonly id: string }, "can-manage-auditing">;

export async function updateWebhook(
  tx: Tx,
  { id }: ManagedWebhook,
  changes: Partial<AuditWebhookTable>,
): Promise<void> {
  await updateRow(tx, "auditWebhooks", id, changes);
}

export async function deleteWebhook(tx: Tx, { id }: ManagedWebhook): Promise<void> {
  await tx.db.deleteFrom("auditWebhooks").where("id", "=", id).execute();
}

export async function recordLastDelivery(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  lastDelivery: string,
): Promise<void> {
  await tx.db
    .updateTable("auditWebhooks")
    .set({ ...incrementedVersion, lastDelivery })
    .where("id", "=", id)
    .execute();
}

export type PendingAuditEvent = AuditEventTable & {
  readonly organizationId: string;
  readonly organizationName: string;
};

export async function findPendingEvents(tx: Tx, limit: number): Promise<PendingAuditEvent[]> {
  const rows = await tx.db
    .selectFrom("auditNotices as n")
    .innerJoin("auditEvents as e", "e.id", "n.auditEventId")
    .leftJoin("openOrganizations as o", "o.id", "n.organizationId")
    .selectAll("e")
    .select(["o.name as organizationName", "n.organizationId as organizationId"])
    .orderBy("n.createdAt")
    .orderBy("n.auditEventId")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...row, organizationName: row.organizationName ?? "" }));
}

export async function deletePendingEvents(tx: Tx, _by: Capability<"job">, ids: readonly string[]): Promise<void> {
  await tx.db
    .deleteFrom("auditNotices")
    .where(tx.dialect.isOneOf(sql.ref("auditEventId"), ids))
    .execute();
}

export type AuditWebhookSubscriber = Pick<AuditWebhookTable, "id" | "organizationId" | "destination" | "events">;

export async function findSubscribers(tx: Tx, organizationIds: readonly string[]): Promise<AuditWebhookSubscriber[]> {
  return tx.db
    .selectFrom("auditWebhooks as a")
    .innerJoin("organizations as o", openWithId("a.organizationId"))
    .select(["a.id", "a.organizationId", "a.destination", "a.events"])
    .where("a.enabled", "=", 1)
    .where(tx.dialect.isOneOf(sql.ref("a.organizationId"), organizationIds))
    .orderBy("a.id")
    .modifyEnd(tx.dialect.lockRows("o", "reference"))
    .execute();
}

export interface LongHeldLock {
  readonly webhookId: string;
  readonly organizationId: string;
  readonly organizationName: string;
  readonly destination: string;
  readonly longerThan: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly lockedAt: string;
  readonly lockedByType: string;
  readonly lockedById: string;
  readonly lockedByName: string | null;
  readonly lockedReason: string | null;
}

/** Only locks of users and teams, because a run's lock ends with the run. Skips locks whose notification is still stored. */
export async function findLongHeldLocks(tx: Tx, limit: number): Promise<LongHeldLock[]> {
  const { msOf, nowMs, contains } = tx.dialect;
  const threshold = sql.ref<string>("a.lockHeldLongerThan");
  const thresholdMs = sql`cast(substr(${threshold}, 1, length(${threshold}) - 1) as bigint)
    * case when substr(${threshold}, length(${threshold}), 1) = 'd' then 86400000 else 3600000 end`;
  const result = await sql<LongHeldLock>`
    select a.id as webhook_id, a.organization_id, o.name as organization_name, a.destination,
      a.lock_held_longer_than as longer_than, w.id as workspace_id, w.name as workspace_name, w.locked_at,
      w.locked_by_type, w.locked_by_id, w.locked_by_name, w.locked_reason
    from audit_webhooks as a
    inner join open_organizations as o on o.id = a.organization_id
    inner join workspaces as w on w.organization_id = a.organization_id and w.locked_at is not null
      and w.locked_by_type in ('users', 'teams')
    where a.enabled = 1 and ${contains(sql.ref("a.events"), '"lock.held"')}
      and ${msOf(sql.ref("w.locked_at"))} + ${thresholdMs} <= ${nowMs}
      and not exists (
        select 1 from notices as n where n.once_key = a.id || ' ' || w.id || ' ' || w.locked_at)
    order by a.id, w.id limit ${limit}`.execute(tx.db);
  return result.rows;
}
