/** Requests of scans for violations, for other folders. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { raiseRequestedScans } from "./store.ts";

export const accessViolationJob = "access-violations";

/** Call in the transaction of each change of a rule. The caller has locked the organization. */
export async function requestViolationScan(
  tx: Tx,
  context: Pick<Context, "wake">,
  by: Granted<object, "can-update">,
  organizationId: string,
): Promise<void> {
  await raiseRequestedScans(tx, by, organizationId);
  tx.afterCommit?.(() => context.wake?.(accessViolationJob));
}
