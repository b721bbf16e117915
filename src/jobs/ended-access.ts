/** Removes access whose time has passed. It has given nothing since: what is left to do is to tell of its end, and to make room. */
import { tidyMemberships } from "../resources/identity/organization-memberships/writes.ts";
import { tidyTeamAccess } from "../resources/sharing/team-access/upkeep.ts";
import type { JobWork } from "../resources/shared/job-work.ts";
import type { Job } from "./job.ts";

const batchSize = 100;

export const endedAccess: Job = {
  name: "ended-access",
  doc: "removes team access and places in teams that have ended.",
  everyMs: 60_000,
  run: async (work) => {
    let handled = 0;
    for (const tidy of [tidyMemberships, ...tidyTeamAccess]) handled += await untilNothing(work, tidy);
    return handled;
  },
};

/** Each step is about one organization. */
async function untilNothing({ context, signal, step }: JobWork, tidy: typeof tidyMemberships): Promise<number> {
  let handled = 0;
  while (!signal.aborted) {
    const count = await step((tx) => tidy(tx, context, batchSize));
    if (count === 0) break;
    handled += count;
  }
  return handled;
}
