/** Requests of scans for violations, for other folders. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";

export const accessViolationJob = "access-violations";

/** Call in the transaction of each change of a rule. The caller has locked the organization. */
export async function requestViolationScan(
  tx: Tx,
  context: Pick<Context, "wake">,
  organizationId: string,
): Promise<void> {
  await tx.db
    .insertInto("accessViolationScans")
    .values({ organizationId, requested: 1, completed: 0, computedAt: null })
    .onConflict((conflict) =>
      conflict.column("organizationId").doUpdateSet({ requested: sql`access_violation_scans.requested + 1` }),
    )
    .execute();
  tx.afterCommit?.(() => context.wake?.(accessViolationJob));
}
