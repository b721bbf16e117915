/** SQL for commit statuses: the run of each, and the last state sent to the provider. */
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { VcsStatusTable } from "../../../database/schema/vcs.ts";
import { stateOfRun } from "./rules.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export async function insertStatus(tx: Tx, _by: Capability<"job">, row: VcsStatusTable): Promise<void> {
  await tx.db.insertInto("vcsStatuses").values(row).execute();
}

export interface DueStatus extends VcsStatusTable {
  readonly runStatus: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
}

export async function findDueStatuses(tx: Tx, busy: readonly string[], limit: number): Promise<DueStatus[]> {
  const state = sql<string>`case r.status ${sql.join(
    Object.entries(stateOfRun).map(([status, shown]) => sql`when ${sql.lit(status)} then ${sql.lit(shown)}`),
    sql` `,
  )} else 'pending' end`;
  return tx.db
    .selectFrom("vcsStatuses as s")
    .innerJoin("runs as r", "r.id", "s.runId")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("organizations as o", openWithId("s.organizationId"))
    .selectAll("s")
    .select(["r.status as runStatus", "w.id as workspaceId", "w.name as workspaceName", "o.name as organizationName"])
    .where("s.dueMs", "is not", null)
    .where(sql<boolean>`s.due_ms <= ${tx.dialect.nowMs}`)
    .where(sql<boolean>`(s.state is null or s.state <> ${state})`)
    .where((where) => where.not(tx.dialect.isOneOf(sql.ref("s.runId"), busy)))
    .orderBy("s.dueMs")
    .orderBy("s.runId")
    .limit(limit)
    .execute();
}

/** `waitMs` is null for the last state. */
export async function updateStatus(
  tx: Tx,
  _by: Capability<"job">,
  runId: string,
  changes: { readonly state?: string; readonly attempts: number },
  waitMs: number | null,
): Promise<void> {
  const dueMs = waitMs === null ? null : sql<number>`${tx.dialect.nowMs} + ${waitMs}`;
  await tx.db
    .updateTable("vcsStatuses")
    .set({ ...changes, dueMs })
    .where("runId", "=", runId)
    .execute();
}
