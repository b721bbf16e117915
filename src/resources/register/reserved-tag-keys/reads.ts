/** What neighbours ask of reserved tag keys. */
import type { Tx } from "../../../database/database.ts";
import { findKeysThatForbidOverrides } from "./store.ts";

/** The keys whose value a workspace may not override where its project binds them, in their order. */
export async function keysThatForbidOverrides(tx: Tx, organizationId: string): Promise<string[]> {
  return findKeysThatForbidOverrides(tx, organizationId);
}
