/** What those who enforce data retention policies ask: which there are, and how old a thing may be under each. */
import { nowMs } from "../../../kernel/time.ts";
import type { Tx } from "../../../database/database.ts";
import { daysMax } from "./definition.ts";
import type { JobWork } from "../../shared/job-work.ts";

/** A policy that removes: of a workspace, or of the whole organization where that is null. */
export interface DeletingPolicy {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly deleteOlderThanNDays: number;
}

const policiesAtOnce = 100;
const dayMs = 24 * 60 * 60 * 1000;

/** Each policy in turn, with the moment before which a thing has had its time. Gives the sum of what was handled. */
export async function underPolicies(
  { context: { database, options }, signal }: Pick<JobWork, "context" | "signal">,
  enforce: (policy: DeletingPolicy, before: string) => Promise<number>,
): Promise<number> {
  // The hosted edition has no policies.
  if (options.edition === "hosted") return 0;
  let handled = 0;
  for (let after = ""; !signal.aborted;) {
    const policies = await findPolicies(database.reader, after, policiesAtOnce);
    for (const policy of policies) {
      // Policies of before there was a limit may name more days than a calendar has.
      const days = Math.min(policy.deleteOlderThanNDays, daysMax);
      handled += await enforce(policy, new Date(nowMs() - days * dayMs).toISOString());
    }
    after = policies.at(-1)?.id ?? "";
    if (policies.length < policiesAtOnce) break;
  }
  return handled;
}

/** Some of them, in the order of their ids. */
async function findPolicies(tx: Tx, after: string, limit: number): Promise<DeletingPolicy[]> {
  const rows = await tx.db
    .selectFrom("dataRetentionPolicies")
    .select(["id", "organizationId", "workspaceId", "deleteOlderThanNDays"])
    .where("deleteOlderThanNDays", "is not", null)
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows as DeletingPolicy[];
}
