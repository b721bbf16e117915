/** Reads of SSO providers for other modules. */
import type { Tx } from "../../../database/database.ts";
import { fold } from "../../../kernel/text.ts";

const providersMax = 100;

export async function listSignInProviders(
  tx: Tx,
  organizationName: string | undefined,
): Promise<{ id: string; name: string }[]> {
  return tx.db
    .selectFrom("ssoProviders as s")
    .leftJoin("openOrganizations as o", "o.id", "s.organizationId")
    .select(["s.id", "s.name"])
    .where((where) =>
      where.or([
        where("s.organizationId", "is", null),
        where.and([where("o.nameKey", "=", fold(organizationName ?? "")), where("o.isDisabled", "=", 0)]),
      ]),
    )
    .orderBy("s.nameKey")
    .limit(providersMax)
    .execute();
}
