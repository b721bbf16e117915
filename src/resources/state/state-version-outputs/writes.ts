/** Inserts and deletes the outputs of states. */
import type { Tx } from "../../../database/database.ts";
import type { StateVersionOutputTable } from "../../../database/schema/state.ts";
import type { StateRemover, StateWriter } from "../state-writers.ts";

/** Databases limit the number of parameters in a statement. */
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
