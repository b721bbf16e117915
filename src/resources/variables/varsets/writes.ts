/** Writes to variable sets for other modules. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarsetView } from "./definition.ts";
import { updateVarsetRow } from "./store.ts";

/** Call after a variable was added or removed, because the set's document lists its variables. */
export async function touchVarset(tx: Tx, set: Granted<VarsetView, "can-manage">): Promise<void> {
  await updateVarsetRow(tx, set, {});
}
