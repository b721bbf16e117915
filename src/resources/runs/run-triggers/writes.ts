/**
 * What a run's apply starts in other workspaces. The apply itself only leaves a note: it holds its own workspace, and to hold others
 * too would be out of the order of locks. A job, which is woken at once, holds all of them in their order.
 */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import type { RunTransition } from "../proofs.ts";

/** The job that starts what applies cause. */
export const triggeringJob = "run-triggers";

const inserting = prepared<{ runId: string; workspaceId: string; createdAt: string }, never>(
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

/** In the transaction in which the run was applied, where other workspaces follow this one. Wake the job after it. */
export async function noteApplied(
  tx: Tx,
  _by: RunTransition,
  { id, workspaceId }: Pick<RunTable, "id" | "workspaceId">,
): Promise<void> {
  await inserting(tx, { runId: id, workspaceId, createdAt: now() });
}
