/** The interface of a background job. Does not know when or where a job runs. */
import type { Tx } from "../database/database.ts";
import type { JobContext } from "../resources/shared/job-context.ts";

export interface BackgroundJob {
  readonly name: string;
  /** The end of a sentence that begins with "The job". */
  readonly doc: string;
  readonly everyMs: number;
  /** Returns the number of handled items. */
  run(work: JobContext): Promise<number>;
}

/** Another server may have the job, so this run must not write any more. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";

  constructor(job: string) {
    super(`This run of the job ${job} no longer holds the lease. Nothing was written.`);
  }
}

/** Until a batch handles fewer than `size` items or the run is aborted. */
export async function inBatches(
  { signal, step }: Pick<JobContext, "signal" | "step">,
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
    // The aborted step handled nothing, but earlier ones did.
    if (!signal.aborted) throw error;
  }
  return handled;
}
