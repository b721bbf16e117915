/** What a background job is. Who runs it, and when, is none of its business. */
import type { Tx } from "../database/database.ts";
import type { JobWork } from "../resources/shared/job-work.ts";

export interface Job {
  /** As the command line and the metrics call it: `expired-tokens`. */
  readonly name: string;
  /** What it does, as the end of "The job …". */
  readonly doc: string;
  /** How long after its end it is due again. */
  readonly everyMs: number;
  /** Gives how many things it handled. What it raises is recorded as a failure; it runs again when it is due. */
  run(work: JobWork): Promise<number>;
}

/** Another server may have taken the job over: this run must not write any more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";

  constructor(job: string) {
    super(`This run of the job ${job} no longer holds the lease. Nothing was written.`);
  }
}

/** Repeats a batch, each in a step of its own, until one finds less than it could have handled or the run is to end. */
export async function inBatches(
  { signal, step }: Pick<JobWork, "signal" | "step">,
  size: number,
  batch: (tx: Tx, size: number) => Promise<number>,
): Promise<number> {
  let handled = 0;
  try {
    while (!signal.aborted) {
      const count = await step((tx) => batch(tx, size));
      handled += count;
      if (count < size) break;
    }
  } catch (error) {
    // The step that was refused because the run is to end has handled nothing, but those before have.
    if (!signal.aborted) throw error;
  }
  return handled;
}
