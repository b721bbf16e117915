/** Removes tokens that no longer work, so that lists show only what does; and links and codes, which nobody lists. */
import { removeExpiredTokens } from "../resources/identity/authentication-tokens/writes.ts";
import { removeOldAuthorizations } from "../resources/identity/authorizations/writes.ts";
import { removeEndedInvitations } from "../resources/identity/invitations/writes.ts";
import { inBatches, type Job } from "./job.ts";

const batchSize = 500;

export const expiredTokens: Job = {
  name: "expired-tokens",
  doc: "removes tokens that have expired, and links and codes of signing in that have ended.",
  everyMs: 3_600_000,
  run: async (work) => {
    const { context, capability } = work;
    return (
      (await inBatches(work, batchSize, (tx, limit) => removeExpiredTokens(tx, context, capability, limit))) +
      (await inBatches(work, batchSize, (tx, limit) => removeEndedInvitations(tx, capability, limit))) +
      (await inBatches(work, batchSize, (tx, limit) => removeOldAuthorizations(tx, capability, limit)))
    );
  },
};
