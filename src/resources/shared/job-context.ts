/** The context of a background job. */
import type { Capability } from "../../access/capability.ts";
import type { Tx } from "../../database/database.ts";
import type { Context } from "./context.ts";

export interface JobStepOptions {
  /** An event of an earlier transaction announced these writes, so they need none of their own. */
  readonly isAudited?: boolean;
}

export interface JobContext {
  readonly context: Context;
  readonly capability: Capability<"job">;
  /** Aborted when the server stops or the lease is lost; all later steps are refused. */
  readonly signal: AbortSignal;
  /** The only way to write. It extends the lease first, or throws LeaseLost; keep it short. `work` can run again from the start. */
  step<T>(work: (tx: Tx) => Promise<T>, options?: JobStepOptions): Promise<T>;
}
