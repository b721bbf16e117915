/** What agents have done to the plans and applies that they hold, beside the steps of runs. None of it shows in a document. */
import type { Granted } from "../../../../access/granted.ts";
import type { Tx } from "../../../../database/database.ts";
import type { RunPhaseTable } from "../../../../database/schema/runs.ts";
import { raised } from "../../../shared/versions.ts";

type JobInHand = Granted<Pick<RunPhaseTable, "id" | "attempt">, "can-move-run">;

/** Its agent was heard of, by the database's clock, in this attempt. Undefined where it is somebody else's by now, or over. */
export async function noteHeard(
  tx: Tx,
  { id, attempt }: JobInHand,
): Promise<Pick<RunPhaseTable, "signal" | "agentId"> | undefined> {
  return tx.db
    .updateTable("runPhases")
    .set({ heardMs: tx.dialect.nowMs })
    .where("id", "=", id)
    .where("attempt", "=", attempt)
    .where("status", "=", "running")
    .returning(["signal", "agentId"])
    .executeTakeFirst();
}

/** The engine is about to be started: from now on it is never given to another agent. False where it is not the agent's any more. */
export async function noteStarted(tx: Tx, { id, attempt }: JobInHand): Promise<boolean> {
  const rows = await tx.db
    .updateTable("runPhases")
    .set({ heardMs: tx.dialect.nowMs, engineStarted: 1 })
    .where("id", "=", id)
    .where("attempt", "=", attempt)
    .where("status", "=", "running")
    .returning("id")
    .execute();
  return rows.length > 0;
}

/** The engine wrote configuration; the plan's document says so. */
export async function noteGeneratedConfiguration(tx: Tx, { id }: JobInHand): Promise<void> {
  await tx.db
    .updateTable("runPhases")
    .set({ generatedConfiguration: 1, ...raised })
    .where("id", "=", id)
    .execute();
}
