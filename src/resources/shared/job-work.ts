/** What a background job is given when it runs. */
import type { Capability } from "../../access/capability.ts";
import type { Tx } from "../../database/database.ts";
import type { Context } from "./context.ts";

export interface JobWork {
  readonly context: Context;
  /** What stores accept where nobody with permissions asked for the change. */
  readonly capability: Capability<"job">;
  /** Aborted when the run is to end: the server stops, or the lease is lost. Every further step is refused then. */
  readonly signal: AbortSignal;
  /**
   * One short transaction, and the only way for a job to write. It begins by making sure that this run still has the lease,
   * and extends it; so keep it well below the lease's length. Raises LeaseLost, and nothing is written, where it has not.
   * `work` may run again from the start, like that of `Database.write`.
   */
  step<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}
