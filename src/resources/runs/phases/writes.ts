/** What runs have done to their plans and applies, in the run's own transaction. */
import { type Expression, isExpression, sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { RunPhaseTable } from "../../../database/schema/runs.ts";
import { raised, updateRow } from "../../shared/versions.ts";
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

/**
 * The phases that a step changes, and with those that it makes final the ends of their logs. `alike` where the same happens to all
 * of them, and nothing was ever said in their logs: one statement for all.
 */
export async function updatePhases(
  tx: Tx,
  _by: MayMove,
  vault: Vault,
  changed: readonly PhaseChange[],
  how: "each" | "alike" = "each",
): Promise<void> {
  const over = changed.filter(({ changes }) => isFinalPhase(changes.status ?? ""));
  const ends = await endLogs(
    tx,
    vault,
    over.map(({ phase }) => phase),
  );
  const [first] = changed;
  if (how === "alike" && first !== undefined) {
    await tx.db
      .updateTable("runPhases")
      .set({ ...first.changes, ...ends.get(first.phase.id), ...raised })
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
      ...ends.get(id),
      ...(changes.status === "queued" && { queuedMs: tx.dialect.nowMs }),
    },
  }));
  const [row, ...others] = rows;
  if (others.length > 0) await updateTogether(tx, rows);
  else if (row !== undefined) await updateRow(tx, "runPhases", row.id, row.columns);
}

interface ChangedRow {
  readonly id: string;
  readonly columns: Readonly<Record<string, unknown>>;
}

/** Rows that change differently, by one statement: each column is what its row's change says, or what it was. */
async function updateTogether(tx: Tx, rows: readonly ChangedRow[]): Promise<void> {
  const names = [...new Set(rows.flatMap(({ columns }) => Object.keys(columns)))];
  const columns = names.map((name) => {
    const changing = rows.filter((row) => row.columns[name] !== undefined);
    const cases = changing.map((row) => sql`when id = ${row.id} then ${typed(row.columns[name])}`);
    return [name, sql`case ${sql.join(cases, sql` `)} else ${sql.ref(name)} end`];
  });
  await tx.db
    .updateTable("runPhases")
    .set({ ...(Object.fromEntries(columns) as object), ...raised })
    .where(
      tx.dialect.isOneOf(
        sql.ref("id"),
        rows.map(({ id }) => id),
      ),
    )
    .execute();
}

/** In a CASE the engines do not tell by themselves of which type a parameter is. */
function typed(value: unknown): Expression<unknown> {
  if (isExpression(value)) return value;
  if (value === null) return sql`null`;
  return typeof value === "number" ? sql`cast(${value} as bigint)` : sql`cast(${value} as text)`;
}
