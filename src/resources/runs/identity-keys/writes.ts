/** Issues workload identity tokens, and rotates their keys. A replaced key stays published until its tokens have expired. */
import { createPrivateKey } from "node:crypto";
import type { Database, Tx } from "../../../database/database.ts";
import type { IdentityKeyTable } from "../../../database/schema/runs.ts";
import type { Vault } from "../../../database/vault.ts";
import { newId } from "../../../kernel/ids.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import {
  requestedIdentities,
  claimsOf,
  type IdentityFacts,
  generateSigningKeys,
  privateKeyOwner,
  toJwk,
  signedToken,
  publishableKeys,
} from "./rules.ts";
import { deleteKeys, findKeys, insertKey } from "./store.ts";

export interface IdentityToken {
  readonly name: string;
  readonly value: string;
}

export async function signIdentityTokens(
  tx: Tx,
  vault: Vault,
  facts: IdentityFacts,
  variables: Parameters<typeof requestedIdentities>[0],
): Promise<IdentityToken[]> {
  const requested = requestedIdentities(variables);
  if (requested.length === 0) return [];
  const { id, privateKey } = await signingKey(tx, vault);
  const decrypted = Buffer.from(vault.open(privateKeyOwner(id), privateKey));
  const key = createPrivateKey({ key: decrypted, format: "der", type: "pkcs8" });
  return requested.map(({ name, audience }) => ({
    name,
    value: signedToken(key, id, claimsOf(facts, audience, nowMs())),
  }));
}

/** Creates a key if there is none, so that trust can be set up before the first run. */
export async function publishedKeys(database: Database, vault: Vault): Promise<object[]> {
  const keys = await findKeys(database.reader);
  const all = keys.length > 0 ? keys : [await database.write((tx) => signingKey(tx, vault))];
  return publishableKeys(all, nowMs()).map(({ publicKey }) => JSON.parse(publicKey) as object);
}

/** If two servers create the first key at the same time, both keys are published and the newer one signs. */
async function signingKey(tx: Tx, vault: Vault): Promise<IdentityKeyTable> {
  const [newest] = await findKeys(tx);
  return newest ?? addKey(tx, vault, undefined);
}

/** Later than the previous key, whatever the clock says: the newest key signs. */
async function addKey(tx: Tx, vault: Vault, before: IdentityKeyTable | undefined): Promise<IdentityKeyTable> {
  const id = newId("identity-keys");
  const { publicKey, privateKey } = await generateSigningKeys();
  const key = {
    id,
    publicKey: JSON.stringify(toJwk(publicKey, id)),
    privateKey: vault.seal(privateKeyOwner(id), privateKey.export({ format: "der", type: "pkcs8" })),
    createdAt: before === undefined || before.createdAt < now() ? now() : nextMillisecond(before.createdAt),
  };
  await insertKey(tx, key);
  return key;
}

const nextMillisecond = (instant: string): string => new Date(Date.parse(instant) + 1).toISOString();

export async function rotateIdentityKey(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  vault: Vault,
  { revoke }: { readonly revoke: boolean },
): Promise<{ readonly id: string; readonly published: readonly string[] }> {
  const before = await findKeys(tx);
  const key = await addKey(tx, vault, before[0]);
  const published = revoke ? [key] : publishableKeys([key, ...before], nowMs());
  const removed = before.filter((each) => !published.includes(each));
  await deleteKeys(
    tx,
    removed.map(({ id }) => id),
  );
  const publishedIds = published.map(({ id }) => id);
  await recordEvent(tx, context, {
    organizationId: null,
    verb: "rotate",
    subject: { type: "identity-keys", id: key.id },
    before: { published: before.map(({ id }) => id) },
    after: { published: publishedIds },
  });
  return { id: key.id, published: publishedIds };
}
