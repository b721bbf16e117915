/** Reads of token TTL policies for the tokens module. */
import type { Tx } from "../../../database/database.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export async function tokenMaxMs(
  tx: Tx,
  organizationId: string,
  kind: "organization" | "team" | "audit-trails",
): Promise<number | undefined> {
  const policy = await tx.db
    .selectFrom("organizationTokenTtlPolicies as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .select("p.maxTtlMs")
    .where("p.organizationId", "=", organizationId)
    .where("p.tokenType", "=", kind.replace("-", "_"))
    .where("o.maxTtlEnabled", "=", 1)
    .executeTakeFirst();
  return policy?.maxTtlMs;
}
