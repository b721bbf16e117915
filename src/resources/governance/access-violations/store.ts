/** SQL of access violations and of their scans. */
import { sql } from "kysely";
import type { Capability } from "../../../access/capability.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { nowParameter } from "../../../database/now-parameter.ts";
import type { AccessViolationScanTable, AccessViolationTable } from "../../../database/schema/access-violations.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { OrganizationView } from "../../identity/organizations/definition.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { openWithId } from "../../shared/open-organizations.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { rowBatches } from "../../shared/row-batches.ts";
import type { AccessViolationView } from "./definition.ts";

interface ViolationPage {
  readonly views: readonly AccessViolationView[];
  readonly totalCount: number;
  readonly computedAt: string | null;
  /** When the next of their tokens expires; 0 if none does. */
  readonly tokenExpiresMs: number;
}

/** Without those of access that has expired and of rules that were disabled since the last scan. */
export async function listViolations(
  tx: Tx,
  { id }: Granted<OrganizationView, "can-update">,
  ruleId: string | undefined,
  page: Page,
): Promise<ViolationPage> {
  const rows = tx.db
    .selectFrom("accessViolations as v")
    .innerJoin("accessRules as r", "r.id", "v.accessRuleId")
    .leftJoin("teamProjects as p", "p.id", "v.teamProjectId")
    .leftJoin("teamWorkspaces as w", "w.id", "v.teamWorkspaceId")
    .leftJoin("teamMembers as m", (join) =>
      join.onRef("m.teamId", "=", "v.teamId").onRef("m.membershipId", "=", "v.membershipId"),
    )
    .leftJoin("tokens as k", "k.id", "v.tokenId")
    .select(["v.id", "v.organizationId", "v.accessRuleId", "v.kind", "v.since"])
    .select(["m.userId", "p.projectId", "w.workspaceId"])
    .select(sql<string>`coalesce(r.message, r.name)`.as("message"))
    .select(sql<string | null>`coalesce(v.team_id, p.team_id, w.team_id, k.team_id)`.as("teamId"))
    .where("v.organizationId", "=", id)
    .where("r.enabled", "=", 1)
    .where("r.enforcement", "<>", "advise")
    .where(inForce("p"))
    .where(inForce("w"))
    .where(inForce("m"))
    .where(sql<boolean>`(k.expired_at is null or k.expired_at > ${nowParameter})`)
    .$if(ruleId !== undefined, (query) => query.where("v.accessRuleId", "=", ruleId ?? ""));
  const found = await fetchPage(tx, {
    rows,
    order: [
      { column: "v.since", descending: true },
      { column: "v.id", descending: true },
    ],
    page,
    totals: {
      totalCount: countOf(rows.clearSelect().select("v.id")),
      computedMs: sql<number>`(select computed_ms from access_violation_scans where organization_id = ${id})`,
      tokenExpiresMs: sql<number>`(${rows.clearSelect().select(tx.dialect.msOf(sql`min(k.expired_at)`).as("first"))})`,
    },
  });
  const { totalCount, computedMs, tokenExpiresMs } = found.totals;
  return {
    views: found.rows,
    totalCount,
    tokenExpiresMs,
    computedAt: computedMs === 0 ? null : new Date(computedMs).toISOString(),
  };
}

export async function raiseRequestedScans(
  tx: Tx,
  _by: Granted<object, "can-update">,
  organizationId: string,
): Promise<void> {
  await tx.db
    .insertInto("accessViolationScans")
    .values({ organizationId, requested: 1, completed: 0, computedMs: null })
    .onConflict((conflict) =>
      conflict.column("organizationId").doUpdateSet({ requested: sql`access_violation_scans.requested + 1` }),
    )
    .execute();
}

export type DueScan = Pick<AccessViolationScanTable, "organizationId" | "requested">;

/** The next by organization, requested or completed before `staleMs` in an organization with rules. */
export async function findDueScan(tx: Tx, staleMs: number, afterId: string): Promise<DueScan | undefined> {
  return tx.db
    .selectFrom("accessViolationScans as s")
    .innerJoin("organizations as o", openWithId("s.organizationId"))
    .select(["s.organizationId", "s.requested"])
    .where((where) =>
      where.or([
        where("s.completed", "<", where.ref("s.requested")),
        where.and([where("s.computedMs", "<", staleMs), where("o.enabledRuleCount", ">", 0)]),
      ]),
    )
    .where("s.organizationId", ">", afterId)
    .orderBy("s.organizationId")
    .executeTakeFirst();
}

/** `requested`: as it was before the scan. */
export async function completeScan(
  tx: Tx,
  _by: Capability<"job">,
  { organizationId, requested }: DueScan,
  computedMs: number,
): Promise<void> {
  await tx.db
    .updateTable("accessViolationScans")
    .set({ completed: requested, computedMs })
    .where("organizationId", "=", organizationId)
    .execute();
}

/** So that no rule changes until the commit, and nobody removes several grants at a time. False if the organization is closed. */
export async function lockOrganizationToScan(tx: Tx, _by: Capability<"job">, organizationId: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("accessViolationScans as s")
    .innerJoin("organizations as o", openWithId("s.organizationId"))
    .select("o.id")
    .where("s.organizationId", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", "change"))
    .executeTakeFirst();
  return row !== undefined;
}

/** Of rules that are disabled, or only advise now. */
export async function deleteObsoleteViolations(
  tx: Tx,
  _by: Capability<"job">,
  organizationId: string,
  limit: number,
): Promise<number> {
  const obsolete = tx.db
    .selectFrom("accessViolations as v")
    .innerJoin("accessRules as r", "r.id", "v.accessRuleId")
    .select("v.id")
    .where("v.organizationId", "=", organizationId)
    .where((where) => where.or([where("r.enabled", "=", 0), where("r.enforcement", "=", "advise")]))
    .limit(limit);
  const result = await tx.db.deleteFrom("accessViolations").where("id", "in", obsolete).executeTakeFirst();
  return Number(result.numDeletedRows);
}

type KnownViolation = Pick<AccessViolationTable, "id" | "subjectId" | "accessRuleId">;

export async function findViolationsOf(
  tx: Tx,
  organizationId: string,
  subjectIds: readonly string[],
): Promise<KnownViolation[]> {
  return tx.db
    .selectFrom("accessViolations")
    .select(["id", "subjectId", "accessRuleId"])
    .where("organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("subjectId"), subjectIds))
    .execute();
}

export async function insertViolations(
  tx: Tx,
  _by: Capability<"job">,
  rows: readonly AccessViolationTable[],
): Promise<void> {
  for (const batch of rowBatches(rows)) await tx.db.insertInto("accessViolations").values(batch).execute();
}

export async function deleteViolations(tx: Tx, _by: Capability<"job">, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.db
    .deleteFrom("accessViolations")
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
}
