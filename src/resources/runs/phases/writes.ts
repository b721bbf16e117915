/** Writes to phases: by transitions, in the run's transaction, and by agents' reports. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { incrementedVersion, updateRow, updateRows } from "../../shared/versions.ts";
import type { RunTransition } from "../capabilities.ts";
import { endLogs, type LoggedPhase, type LogWriter } from "./logs.ts";
import { isFinalPhase } from "./rules.ts";

export async function insertPhases(tx: Tx, _by: RunTransition, phases: readonly RunPhaseTable[]): Promise<void> {
  await tx.db
    .insertInto("runPhases")
    .values(phases.map((phase) => ({ ...phase, queuedMs: phase.status === "queued" ? tx.dialect.nowMs : null })))
    .execute();
}

export interface PhaseChange {
  readonly phase: LoggedPhase;
  readonly changes: Partial<RunPhaseTable>;
}

/** `identical`: all phases have the same changes and empty logs, so one statement updates them. */
export async function updatePhases(
  tx: Tx,
  _by: RunTransition,
  writer: LogWriter,
  changed: readonly PhaseChange[],
  mode: "individual" | "identical" = "individual",
): Promise<void> {
  const ended = changed.filter(({ changes }) => isFinalPhase(changes.status ?? ""));
  const logColumns = await endLogs(
    tx,
    writer,
    ended.map(({ phase }) => phase),
  );
  const [first] = changed;
  if (mode === "identical" && first !== undefined) {
    await tx.db
      .updateTable("runPhases")
      .set({ ...first.changes, ...logColumns.get(first.phase.id), ...incrementedVersion })
      .where(
        tx.dialect.isOneOf(
          sql.ref("id"),
          changed.map(({ phase }) => phase.id),
        ),
      )
      .execute();
    return;
  }
  const rows = changed.map(({ phase: { id }, changes }) => ({
    id,
    columns: {
      ...changes,
      ...logColumns.get(id),
      ...(changes.status === "queued" && { queuedMs: tx.dialect.nowMs }),
    },
  }));
  const [row, ...others] = rows;
  if (others.length > 0) await updateRows(tx, "runPhases", rows);
  else if (row !== undefined) await updateRow(tx, "runPhases", row.id, row.columns);
}

type ClaimedPhaseKey = Granted<Pick<RunPhaseTable, "id" | "attempt">, "claim">;

/** Undefined if the attempt no longer has the phase. */
export async function recordHeartbeat(
  tx: Tx,
  { id, attempt }: ClaimedPhaseKey,
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

/** After this, the phase is never given to another agent. False if the attempt no longer has it. */
export async function recordEngineStart(tx: Tx, { id, attempt }: ClaimedPhaseKey): Promise<boolean> {
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

export async function recordGeneratedConfiguration(tx: Tx, { id }: ClaimedPhaseKey): Promise<void> {
  await tx.db
    .updateTable("runPhases")
    .set({ generatedConfiguration: 1, ...incrementedVersion })
    .where("id", "=", id)
    .execute();
}
