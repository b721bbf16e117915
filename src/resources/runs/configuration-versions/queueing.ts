/** The run that an upload queues, by the authority of whoever made the version. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import type { ArrivingVersion } from "./store.ts";

/** Nothing happens where the maker may not queue runs any more, or the workspace does not take any. */
export async function queueRun(
  _tx: Tx,
  _context: Context,
  _version: Granted<ArrivingVersion, "can-upload">,
): Promise<void> {}
