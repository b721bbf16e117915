/** What neighbours ask of providers. */
import type { Tx } from "../../../database/database.ts";
import type { Context } from "../../shared/context.ts";
import { signOutOwner } from "./rules.ts";
import { findSignOut } from "./store.ts";

export { listChoices as providersToChooseFrom } from "./store.ts";

/** A session that began by a provider, with where to sign out there; undefined where there is no such place. */
export async function loadSignOut(tx: Tx, { vault }: Context, tokenId: string) {
  const found = await findSignOut(tx, tokenId);
  if (found === undefined) return undefined;
  const { signOutUrl, ...session } = found;
  return { ...session, signOutUrl: Buffer.from(vault.open(signOutOwner(tokenId), signOutUrl)).toString("utf8") };
}
