/** What is done for a program that sends a code, and by the job that tidies up. */
import type { Capability } from "../../../access/capability.ts";
import { nowMs } from "../../../kernel/time.ts";
import type { Tx } from "../../../database/database.ts";
import { deleteOldAuthorizations } from "./store.ts";

export { redeemCode } from "./redemption.ts";

/** For so long a code that is sent twice is known as such, and takes the token back. */
const keptMs = 86_400_000;

export const removeOldAuthorizations = (tx: Tx, by: Capability<"job">, limit: number): Promise<number> =>
  deleteOldAuthorizations(tx, by, new Date(nowMs() - keptMs).toISOString(), limit);
