/** What neighbours have done to variable sets. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { VarsetView } from "./definition.ts";
import { updateVarsetRow } from "./store.ts";

/** It has a variable more, or less: its document names them. */
export async function noteVars(tx: Tx, set: Granted<VarsetView, "can-manage">): Promise<void> {
  await updateVarsetRow(tx, set, {});
}
