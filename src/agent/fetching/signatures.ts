/** Verifies the publisher's OpenPGP signature of a release's checksums. Nothing unsigned passes. */
import { readFileSync } from "node:fs";
import type { Key, KeyID, Signature } from "openpgp";
import { SettingError } from "../../kernel/settings.ts";
import type { Product } from "../products.ts";
import { EngineRefusal } from "./faults.ts";
import { publisherKeys } from "./publisher-keys.ts";

/** Loaded when it is needed: most jobs fetch nothing. */
const openpgp = () => import("openpgp");

const keyBlock = /-----BEGIN PGP PUBLIC KEY BLOCK-----[\s\S]*?-----END PGP PUBLIC KEY BLOCK-----/g;
const keysBytesMax = 1024 * 1024;

/** With a file, its keys sign every product. Throws SettingError. */
export async function readSigningKeys(product: Product, file: string | undefined): Promise<Key[]> {
  const { readKeys } = await openpgp();
  const text = file === undefined ? publisherKeys[product] : readKeysFile(file);
  const keys: Key[] = [];
  try {
    for (const [armoredKeys] of text.matchAll(keyBlock)) keys.push(...(await readKeys({ armoredKeys })));
  } catch (error) {
    throw new SettingError(`CADASTRE_ENGINE_KEYS has a key that can't be read (${(error as Error).message}).`);
  }
  if (keys.length === 0)
    throw new SettingError(
      `CADASTRE_ENGINE_KEYS must be the path of a file with armored OpenPGP public keys; ${file} has none.`,
    );
  return keys;
}

function readKeysFile(file: string): string {
  try {
    return readFileSync(file, "latin1").slice(0, keysBytesMax);
  } catch (error) {
    throw new SettingError(`CADASTRE_ENGINE_KEYS can't be read (${(error as Error).message}).`);
  }
}

/** Returns the fingerprint of the key. Throws EngineRefusal. */
export async function verifySignature(
  content: Uint8Array,
  { bytes, file }: { readonly bytes: Uint8Array; readonly file: string },
  keys: readonly Key[],
): Promise<string> {
  const { createMessage, verify } = await openpgp();
  const refuse = (reason: string) =>
    new EngineRefusal(`The signature ${file} is not valid: ${reason.replace(/\.$/, "")}.`);
  const signature = await readSignatures(bytes).catch((error: Error) => {
    throw refuse(error.message);
  });
  const message = await createMessage({ binary: content });
  const [signer] = signature.getSigningKeyIDs();
  let reason =
    signer === undefined ? "it contains no signature" : `${nameOf(signer)} is not one that signs engines here`;
  // One key at a time: of several copies of a key the library uses only the first, and another may be valid for longer.
  for (const key of keys) {
    const { signatures } = await verify({ message, signature, verificationKeys: key, format: "binary" });
    for (const { keyID, verified } of signatures) {
      try {
        if (key.getKeys(keyID).length === 0) continue;
        await verified;
        if (!(await isRevoked(keys, keyID))) return key.getFingerprint().toUpperCase();
        reason = `${nameOf(keyID)} was revoked`;
      } catch (error) {
        reason = (error as Error).message;
      }
    }
  }
  throw refuse(reason);
}

const nameOf = (keyID: KeyID): string => `the key ${keyID.toHex().toUpperCase()}`;

/** In any copy. The library accepts signatures from before a key was retired. */
async function isRevoked(keys: readonly Key[], keyID: KeyID): Promise<boolean> {
  const copies = keys.filter((key) => key.getKeys(keyID).length > 0);
  const parts = copies.flatMap((key): Pick<Key, "isRevoked">[] => [key, ...(key.getKeys(keyID) as Key[])]);
  return (await Promise.all(parts.map((part) => part.isRevoked()))).includes(true);
}

async function readSignatures(bytes: Uint8Array): Promise<Signature> {
  const { readSignature } = await openpgp();
  const text = Buffer.from(bytes).toString("latin1");
  return text.startsWith("-----BEGIN PGP SIGNATURE-----")
    ? readSignature({ armoredSignature: text })
    : readSignature({ binarySignature: bytes });
}
