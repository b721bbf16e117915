/** Writes to token TTL policies for other modules. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { newPolicies } from "./rules.ts";
import { insertPolicies } from "./store.ts";

export async function insertTokenTtlPolicies(
  tx: Tx,
  by: Capability<"new-organization">,
  organization: OrganizationTable,
): Promise<void> {
  await insertPolicies(tx, by, newPolicies(organization));
}
