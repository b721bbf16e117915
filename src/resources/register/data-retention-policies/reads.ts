/** Iterates over data retention policies for the jobs that enforce them. */
import { nowMs } from "../../../kernel/time.ts";
import type { Tx } from "../../../database/database.ts";
import { daysMax } from "./definition.ts";
import type { JobContext } from "../../shared/job-context.ts";
import { isInOpenOrganization } from "../../shared/open-organizations.ts";

/** `workspaceId` is null for the organization's policy. */
export interface RetentionPolicy {
  readonly id: string;
  readonly organizationId: string;
  readonly workspaceId: string | null;
  readonly deleteOlderThanNDays: number;
}

const policyBatch = 100;
const dayMs = 24 * 60 * 60 * 1000;

/** Data older than `before` is expired. Returns the sum of the results. */
export async function forEachPolicy(
  { context: { database, options }, signal }: Pick<JobContext, "context" | "signal">,
  enforce: (policy: RetentionPolicy, before: string) => Promise<number>,
): Promise<number> {
  if (options.edition === "hosted") return 0;
  let handled = 0;
  for (let after = ""; !signal.aborted;) {
    const policies = await findPolicies(database.reader, after, policyBatch);
    for (const policy of policies) {
      // Policies created before the limit existed can exceed the range of dates.
      const days = Math.min(policy.deleteOlderThanNDays, daysMax);
      handled += await enforce(policy, new Date(nowMs() - days * dayMs).toISOString());
    }
    after = policies.at(-1)?.id ?? "";
    if (policies.length < policyBatch) break;
  }
  return handled;
}

async function findPolicies(tx: Tx, after: string, limit: number): Promise<RetentionPolicy[]> {
  const rows = await tx.db
    .selectFrom("dataRetentionPolicies")
    .select(["id", "organizationId", "workspaceId", "deleteOlderThanNDays"])
    .where("deleteOlderThanNDays", "is not", null)
    .where(isInOpenOrganization("dataRetentionPolicies.organizationId"))
    .where("id", ">", after)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows as RetentionPolicy[];
}
