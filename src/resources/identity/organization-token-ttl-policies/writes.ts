/** What neighbours have done to policies on tokens' lifetimes. */
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { newPolicies } from "./rules.ts";
import { insertPolicies } from "./store.ts";

/** Every organization begins with a policy for each type of token. */
export async function insertTokenTtlPolicies(tx: Tx, organization: OrganizationTable): Promise<void> {
  await insertPolicies(tx, "a new organization", newPolicies(organization));
}
