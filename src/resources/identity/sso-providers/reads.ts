/** What neighbours ask of providers. */
import type { Tx } from "../../../database/database.ts";
import { fold } from "../../../kernel/text.ts";

/** More would be no choice any more. */
const choicesMax = 100;

/** Those of the site, and those of an organization that is named; a closed one has none. */
export async function providersToChooseFrom(
  tx: Tx,
  organizationName: string | undefined,
): Promise<{ id: string; name: string }[]> {
  return tx.db
    .selectFrom("ssoProviders as s")
    .leftJoin("organizations as o", "o.id", "s.organizationId")
    .select(["s.id", "s.name"])
    .where((where) =>
      where.or([
        where("s.organizationId", "is", null),
        where.and([where("o.nameKey", "=", fold(organizationName ?? "")), where("o.isDisabled", "=", 0)]),
      ]),
    )
    .orderBy("s.nameKey")
    .limit(choicesMax)
    .execute();
}
