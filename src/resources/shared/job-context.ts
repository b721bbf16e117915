/** What a background job receives when it runs. */
import type { Capability } from "../../access/capability.ts";
import type { Tx } from "../../database/database.ts";
import type { Context } from "./context.ts";

export interface JobContext {
  readonly context: Context;
  /** The proof for functions that write: a job makes the change, not a caller with permissions. */
  readonly capability: Capability<"job">;
  /** Aborted when the server stops or the lease is lost. All later steps are refused. */
  readonly signal: AbortSignal;
  /**
   * Runs one short transaction; jobs can write in no other way. It first checks and extends the job's lease, so it must take much
   * less time than that. Raises LeaseLost, and writes nothing, if the lease is lost. `work` can run again from the start, as in
   * `Database.write`.
   */
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}
