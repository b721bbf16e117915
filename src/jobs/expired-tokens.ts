/** Removes tokens that no longer work, so that lists show only what does. */
import { removeExpiredTokens } from "../resources/identity/authentication-tokens/writes.ts";
import { inBatches, type Job } from "./job.ts";

const batchSize = 500;

export const expiredTokens: Job = {
  name: "expired-tokens",
  doc: "removes tokens that have expired.",
  everyMs: 3_600_000,
  run: (work) => inBatches(work, batchSize, (tx, limit) => removeExpiredTokens(tx, work.context, limit)),
};
