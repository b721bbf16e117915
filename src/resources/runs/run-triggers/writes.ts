/** Queues the run triggers of an apply for a job. Locking the other workspaces here would violate the lock order. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import type { RunTransition } from "../capabilities.ts";

export const runTriggerJob = "run-triggers";

const insertFiring = prepared<{ runId: string; workspaceId: string; createdAt: string }, never>(
  (db, { runId, workspaceId, createdAt }) =>
    db
      .insertInto("runTriggerFirings")
      .columns(["organizationId", "runId", "createdAt"])
      .expression(
        db
          .selectFrom("runs as r")
          .select(["r.organizationId", "r.id", sql<string>`cast(${createdAt} as text)`.as("createdAt")])
          .where("r.id", "=", runId)
          .where((where) =>
            where.exists(where.selectFrom("runTriggers as t").select("t.id").where("t.sourceableId", "=", workspaceId)),
          ),
      ) as never,
);

/** In the transaction that makes the run `applied`. Wake the job after the commit. */
export async function queueRunTriggers(
  tx: Tx,
  _by: RunTransition,
  { id, workspaceId }: Pick<RunTable, "id" | "workspaceId">,
): Promise<void> {
  await insertFiring(tx, { runId: id, workspaceId, createdAt: now() });
}
