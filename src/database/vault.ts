/** Encryption at rest: AES-256-GCM, with each value bound to its row, so that it can't be moved. Also decrypts with older keys. */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { CompiledQuery } from "kysely";
import { AppError } from "../kernel/errors.ts";
import type { Database, Tx } from "./database.ts";
import { isRetired, retiredKeysFact } from "./fence.ts";
import { setFactIfAbsent, readFact, setFact } from "./meta.ts";

const nonceBytes = 12;
const tagBytes = 16;
export const keyIdBytes = 8;
/** Layout: this byte, the key id, the nonce, the ciphertext, the tag. */
const format = 1;
const headBytes = 1 + keyIdBytes;
const signatureBytes = 32;
export const sealOverheadBytes = headBytes + nonceBytes + tagBytes;

export interface Vault {
  readonly keyId: string;
  readonly keyIds: readonly string[];
  /** `owner` names row and column: `ssh_keys/sshkey-1/value`. */
  seal(owner: string, plain: Uint8Array): Uint8Array;
  /** Throws an Error if the value was changed, belongs to another owner, or has an unknown key. */
  open(owner: string, sealed: Uint8Array): Uint8Array;
  isCurrent(sealed: Uint8Array): boolean;
  /** Proves that a text came from a server with the same key. */
  sign(text: string): string;
  isSignature(text: string, signature: string): boolean;
}

interface VaultKey {
  readonly bytes: Uint8Array;
  readonly id: Buffer;
  readonly hmac: (text: string) => Buffer;
}

function keyOf(bytes: Uint8Array): VaultKey {
  const id = createHash("sha256").update("cadastre key id").update(bytes).digest().subarray(0, keyIdBytes);
  // A separate key for signatures, so that neither use reveals anything about the other.
  const signingKey = Buffer.from(hkdfSync("sha256", bytes, "", "cadastre signatures", 32));
  return { bytes, id, hmac: (text) => createHmac("sha256", signingKey).update(text).digest() };
}

export const keyIdOf = (sealed: Uint8Array): string =>
  Buffer.from(sealed.buffer, sealed.byteOffset + 1, keyIdBytes).toString("hex");

export function createVault(first: Uint8Array, ...older: readonly Uint8Array[]): Vault {
  const key = keyOf(first);
  const keys = [key, ...older.map(keyOf)];
  return {
    keyId: key.id.toString("hex"),
    keyIds: keys.map(({ id }) => id.toString("hex")),
    sign: (text) => key.hmac(text).toString("base64url"),
    isSignature(text, signature) {
      const sent = Buffer.from(signature, "base64url");
      return keys.some(({ hmac }) => sent.length === signatureBytes && timingSafeEqual(sent, hmac(text)));
    },
    isCurrent: (sealed) => keyIdOf(sealed) === key.id.toString("hex"),
    seal(owner, plain) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key.bytes, nonce).setAAD(Buffer.from(owner));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.from([format]), key.id, nonce, body, cipher.getAuthTag()]);
    },
    open(owner, sealed) {
      // A view instead of a copy, because contents can have megabytes.
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes[0] !== format || bytes.length < sealOverheadBytes)
        throw new Error("an encrypted value has an unknown format");
      const sealingKey = keys.find(({ id }) => bytes.subarray(1, headBytes).equals(id));
      if (sealingKey === undefined) throw new Error("a value was encrypted with another key");
      const nonce = bytes.subarray(headBytes, headBytes + nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", sealingKey.bytes, nonce).setAAD(Buffer.from(owner));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const plain = decipher.update(bytes.subarray(headBytes + nonceBytes, -tagBytes));
      // Returns nothing in this mode; fails if the value was changed.
      decipher.final();
      return plain;
    },
  };
}

const checkName = "encryption-check";
const checkOwner = "meta/encryption-check/value";
const checkText = "cadastre";

/** The first server stores a check value that later ones must be able to decrypt. Throws `conflict`, also for a retired key. */
export async function checkVault(database: Database, vault: Vault): Promise<void> {
  const known =
    (await readFact(database.reader, checkName)) ?? (await database.write((tx) => storeCheckValue(tx, vault)));
  const sealed = Buffer.from(known, "base64");
  try {
    vault.open(checkOwner, sealed);
  } catch {
    throw new AppError(
      "conflict",
      `The encryption key is not this database's key, whose id is ${keyIdOf(sealed)}. Set CADASTRE_ENCRYPTION_KEY to that key.`,
    );
  }
  if (isRetired(vault.keyId, await readFact(database.reader, retiredKeysFact)))
    throw new AppError(
      "conflict",
      `The encryption key ${vault.keyId} was retired and can't encrypt any more. Put the new key before it in CADASTRE_ENCRYPTION_KEY.`,
    );
  database.fence.setKey(vault.keyId);
}

export const hasCheck = async (tx: Tx): Promise<boolean> => (await readFact(tx, checkName)) !== undefined;

export async function isCheckCurrent(tx: Tx, vault: Vault): Promise<boolean> {
  const known = await readFact(tx, checkName);
  return known !== undefined && vault.isCurrent(Buffer.from(known, "base64"));
}

export async function replaceCheck(tx: Tx, vault: Vault): Promise<void> {
  await setFact(tx, checkName, sealedCheck(vault));
}

/** Servers that use the retired keys are refused; the lock waits for their writes. Returns the newly retired keys. */
export async function retireOlderKeys(tx: Tx, vault: Vault): Promise<string[]> {
  if (tx.dialect.lockSchema !== undefined) await tx.db.executeQuery(CompiledQuery.raw(tx.dialect.lockSchema.toChange));
  const retired = (await readFact(tx, retiredKeysFact))?.split(" ") ?? [];
  const added = vault.keyIds.slice(1).filter((id) => !retired.includes(id));
  if (added.length > 0) await setFact(tx, retiredKeysFact, [...retired, ...added].join(" "));
  return added;
}

async function storeCheckValue(tx: Tx, vault: Vault): Promise<string> {
  const sealed = sealedCheck(vault);
  await setFactIfAbsent(tx, checkName, sealed);
  return (await readFact(tx, checkName)) ?? sealed;
}

const sealedCheck = (vault: Vault): string =>
  Buffer.from(vault.seal(checkOwner, Buffer.from(checkText))).toString("base64");

/** A file beside the embedded database, readable only by its owner. One key per line; the first one encrypts. */
export function readKeyFile(databasePath: string): Uint8Array[] {
  const path = keyFilePath(databasePath);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  chmodSync(path, 0o600);
  const lines = readFileSync(path, "utf8").trim().split(/\s+/);
  if (!lines.every((line) => /^[0-9a-f]{64}$/i.test(line)))
    throw new AppError(
      "conflict",
      `The key file ${path} must have 64 hex digits in each line. Restore it from your backup.`,
    );
  return lines.map((line) => Buffer.from(line, "hex"));
}

export function keyFilePath(databasePath: string): string {
  return `${databasePath}.key`;
}
