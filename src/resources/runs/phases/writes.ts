/** What runs have done to their plans and applies, in the run's own transaction. */
import type { Tx } from "../../../database/database.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { updateRow } from "../../shared/versions.ts";
import type { Vault } from "../../../database/vault.ts";
import type { MayMove } from "../proofs.ts";
import { endLogs, type LoggedPhase } from "./logs.ts";
import { isFinalPhase } from "./view.ts";

export { newPhase, phaseBecoming } from "./rules.ts";

/** Both of a new run, in one statement. One that is queued is claimable from this moment on. */
export async function insertPhases(tx: Tx, _by: MayMove, phases: readonly RunPhaseTable[]): Promise<void> {
  await tx.db
    .insertInto("runPhases")
    .values(phases.map((phase) => ({ ...phase, queuedMs: phase.status === "queued" ? tx.dialect.nowMs : null })))
    .execute();
}

export interface PhaseChange {
  readonly phase: LoggedPhase;
  readonly changes: Partial<RunPhaseTable>;
}

/** The phases of a run that a step changes, and with those that it makes final the ends of their logs. */
export async function updatePhases(tx: Tx, _by: MayMove, vault: Vault, changed: readonly PhaseChange[]): Promise<void> {
  const over = changed.filter(({ changes }) => isFinalPhase(changes.status ?? ""));
  const ends = await endLogs(
    tx,
    vault,
    over.map(({ phase }) => phase),
  );
  for (const { phase, changes } of changed)
    await updateRow(tx, "runPhases", phase.id, {
      ...changes,
      ...ends.get(phase.id),
      ...(changes.status === "queued" && { queuedMs: tx.dialect.nowMs }),
    });
}
