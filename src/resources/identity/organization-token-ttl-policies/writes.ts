/** What neighbours have done to policies on tokens' lifetimes. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { newPolicies } from "./rules.ts";
import { insertPolicies } from "./store.ts";

/** Every organization begins with a policy for each type of token. */
export async function insertTokenTtlPolicies(
  tx: Tx,
  by: Capability<"new-organization">,
  organization: OrganizationTable,
): Promise<void> {
  await insertPolicies(tx, by, newPolicies(organization));
}
