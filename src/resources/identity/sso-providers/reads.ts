/** What neighbours ask of providers. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { signOutOwner } from "./rules.ts";
import { findSignOut } from "./store.ts";
import { fold } from "../../../kernel/text.ts";

/** A session that began by a provider, with where to sign out there; undefined where there is no such place. */
export async function loadSignOut(tx: Tx, { vault }: Context, tokenId: string) {
  const found = await findSignOut(tx, tokenId);
  if (found === undefined) return undefined;
  const { signOutUrl, ...session } = found;
  return { ...session, signOutUrl: Buffer.from(vault.open(signOutOwner(tokenId), signOutUrl)).toString("utf8") };
}

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

/** More would be no choice any more. */
const choicesMax = 100;
