/** What becomes of outputs when states are written, read and removed. */
import type { Tx } from "../../../database/database.ts";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import type { StateRemover, StateWriter } from "../proofs.ts";

/** Many rows need many statements, each of a size that an engine takes. */
const rowsPerStatement = 500;

export async function insertOutputs(tx: Tx, _by: StateWriter, rows: readonly StateVersionOutputTable[]): Promise<void> {
  for (let start = 0; start < rows.length; start += rowsPerStatement)
    await tx.db
      .insertInto("stateVersionOutputs")
      .values(rows.slice(start, start + rowsPerStatement))
      .execute();
}

export async function deleteOutputs(tx: Tx, _by: StateRemover, stateVersionId: string): Promise<void> {
  await tx.db.deleteFrom("stateVersionOutputs").where("stateVersionId", "=", stateVersionId).execute();
}
