/** Finds whether a name is taken in an organization, and how many resources of that kind exist. */
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import { fold } from "../../kernel/text.ts";

export async function checkNameAvailability(
  tx: Tx,
  table: "auditWebhooks" | "identityTrusts" | "accessOffers",
  organizationId: string,
  name: string,
): Promise<{ count: number; isTaken: boolean }> {
  const row = await tx.db
    .selectFrom(table)
    .select((select) => [
      select.fn.countAll().as("count"),
      sql<number>`sum(case when name_key = ${fold(name)} then 1 else 0 end)`.as("taken"),
    ])
    .where("organizationId", "=", organizationId)
    .executeTakeFirst();
  return { count: Number(row?.count ?? 0), isTaken: Number(row?.taken ?? 0) > 0 };
}
