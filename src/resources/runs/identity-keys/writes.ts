/**
 * Identities of runs, signed by keys of our own, so that clouds and vaults can trust a run without a stored secret. The first key is
 * made when one is needed; a rotation makes the next, and the one before stays published until nothing that it signed is good any more.
 */
import { createPrivateKey } from "node:crypto";
import type { Database, Tx } from "../../../database/database.ts";
import type { IdentityKeyTable } from "../../../database/schema/runs.ts";
import type { Vault } from "../../../database/vault.ts";
import { newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import {
  askedIdentities,
  claimsOf,
  type IdentityFacts,
  makePair,
  privateKeyOwner,
  publishedForm,
  signedToken,
  stillShown,
} from "./rules.ts";
import { deleteKeys, findKeys, insertKey } from "./store.ts";

export interface IdentityToken {
  /** The variable of the environment that it is put in. */
  readonly name: string;
  readonly value: string;
}

/** The tokens that a run's variables ask for; no statement where they ask for none. */
export async function signIdentity(
  tx: Tx,
  vault: Vault,
  facts: IdentityFacts,
  variables: Parameters<typeof askedIdentities>[0],
): Promise<IdentityToken[]> {
  const asked = askedIdentities(variables);
  if (asked.length === 0) return [];
  const { id, privateKey } = await signingKey(tx, vault);
  const opened = Buffer.from(vault.open(privateKeyOwner(id), privateKey));
  const key = createPrivateKey({ key: opened, format: "der", type: "pkcs8" });
  return asked.map(({ name, audience }) => ({
    name,
    value: signedToken(key, id, claimsOf(facts, audience, nowMs())),
  }));
}

/** The public keys, as they are published; there is always one, so that trust can be set up before the first run. */
export async function publishedKeys(database: Database, vault: Vault): Promise<object[]> {
  const keys = await findKeys(database.reader);
  const all = keys.length > 0 ? keys : [await database.write((tx) => signingKey(tx, vault))];
  return stillShown(all, nowMs()).map(({ publicKey }) => JSON.parse(publicKey) as object);
}

/** Of two servers that make the first one together, both keys are published and the newer signs. */
async function signingKey(tx: Tx, vault: Vault): Promise<IdentityKeyTable> {
  const [newest] = await findKeys(tx);
  return newest ?? addKey(tx, vault, undefined);
}

/** It is newer than the one before by its own time, whatever the clock says: the newest signs. */
async function addKey(tx: Tx, vault: Vault, before: IdentityKeyTable | undefined): Promise<IdentityKeyTable> {
  const id = newId("identity-keys");
  const { publicKey, privateKey } = await makePair();
  const key = {
    id,
    publicKey: JSON.stringify(publishedForm(publicKey, id)),
    privateKey: vault.seal(privateKeyOwner(id), privateKey.export({ format: "der", type: "pkcs8" })),
    createdAt: before === undefined || before.createdAt < now() ? now() : oneLater(before.createdAt),
  };
  await insertKey(tx, key);
  return key;
}

const oneLater = (instant: string): string => new Date(Date.parse(instant) + 1).toISOString();

/** A new key signs from now on. With `revoke` older ones are trusted no more; otherwise until what they signed has ended. */
export async function rotateIdentityKey(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  vault: Vault,
  { revoke }: { readonly revoke: boolean },
): Promise<{ readonly id: string; readonly published: readonly string[] }> {
  const before = await findKeys(tx);
  const key = await addKey(tx, vault, before[0]);
  const shown = revoke ? [key] : stillShown([key, ...before], nowMs());
  const gone = before.filter((each) => !shown.includes(each));
  await deleteKeys(
    tx,
    gone.map(({ id }) => id),
  );
  const published = shown.map(({ id }) => id);
  await recordEvent(tx, context, {
    organizationId: null,
    verb: "rotate",
    subject: { type: "identity-keys", id: key.id },
    before: { published: before.map(({ id }) => id) },
    after: { published },
  });
  return { id: key.id, published };
}
