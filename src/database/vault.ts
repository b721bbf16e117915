/**
 * Encryption at rest: AES-256-GCM under one key, each value bound to the row that it belongs to, so that it can't be moved
 * to another. Values under older keys are opened too, until `resealing.ts` has sealed them anew. A check value in the database
 * refuses a server that was started with another key.
 */
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
/** A sealed value: this byte, the key's id, the nonce, the encrypted bytes, the tag. */
const format = 1;
const headBytes = 1 + keyIdBytes;
const signatureBytes = 32;
/** How much longer a sealed value is than what is in it. */
export const sealedMoreBytes = headBytes + nonceBytes + tagBytes;

export interface Vault {
  /** Names the key under which values are sealed, without telling anything of it. */
  readonly keyId: string;
  /** Names every key under which values can be opened, that one first. */
  readonly keyIds: readonly string[];
  /** `owner` names the row and column: `ssh_keys/sshkey-1/value`. */
  seal(owner: string, plain: Uint8Array): Uint8Array;
  /** Raises an Error when the value was changed, belongs to another owner, or was sealed under another key. */
  open(owner: string, sealed: Uint8Array): Uint8Array;
  /** Whether it was sealed under the key under which values are sealed now. */
  isCurrent(sealed: Uint8Array): boolean;
  /** Proves later that a text came from us: every server with the same key agrees. */
  sign(text: string): string;
  /** In a time that tells nothing of how close a guess was. */
  isSignature(text: string, signature: string): boolean;
}

interface VaultKey {
  readonly bytes: Uint8Array;
  readonly id: Buffer;
  readonly hmac: (text: string) => Buffer;
}

function keyOf(bytes: Uint8Array): VaultKey {
  const id = createHash("sha256").update("cadastre key id").update(bytes).digest().subarray(0, keyIdBytes);
  // Another key than the one that encrypts, so that neither use tells anything of the other.
  const signingKey = Buffer.from(hkdfSync("sha256", bytes, "", "cadastre signatures", 32));
  return { bytes, id, hmac: (text) => createHmac("sha256", signingKey).update(text).digest() };
}

/** The id of the key that a value was sealed under. */
export const keyIdOf = (sealed: Uint8Array): string =>
  Buffer.from(sealed.buffer, sealed.byteOffset + 1, keyIdBytes).toString("hex");

/** Seals and signs with the first key; opens, and knows for its own, what any of them has sealed or signed. */
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
      // A view, not a copy: contents pass here by the megabyte.
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes[0] !== format || bytes.length < sealedMoreBytes)
        throw new Error("a sealed value has an unknown format");
      const sealedUnder = keys.find(({ id }) => bytes.subarray(1, headBytes).equals(id));
      if (sealedUnder === undefined) throw new Error("a value was sealed under another key");
      const nonce = bytes.subarray(headBytes, headBytes + nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", sealedUnder.bytes, nonce).setAAD(Buffer.from(owner));
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const plain = decipher.update(bytes.subarray(headBytes + nonceBytes, -tagBytes));
      // It brings nothing more in this mode; it fails where the value is not what was sealed.
      decipher.final();
      return plain;
    },
  };
}

const checkName = "encryption-check";
const checkOwner = "meta/encryption-check/value";
const checkText = "cadastre";

/**
 * The first server leaves a check value; every later one must be able to open it, and seals under no key that was rotated out. Raises
 * `conflict`. From then on nothing is written once its key is.
 */
export async function checkVault(database: Database, vault: Vault): Promise<void> {
  const known = (await readFact(database.reader, checkName)) ?? (await database.write((tx) => leaveCheck(tx, vault)));
  const sealed = Buffer.from(known, "base64");
  try {
    vault.open(checkOwner, sealed);
  } catch {
    throw new AppError(
      "conflict",
      `The encryption key is not the one that this database was made with, whose id is ${keyIdOf(sealed)}. Set CADASTRE_ENCRYPTION_KEY to that key.`,
    );
  }
  if (isRetired(vault.keyId, await readFact(database.reader, retiredKeysFact)))
    throw new AppError(
      "conflict",
      `The encryption key ${vault.keyId} was rotated out, so nothing may be encrypted under it any more. Put the new key before it in CADASTRE_ENCRYPTION_KEY.`,
    );
  database.fence.holdKey(vault.keyId);
}

/** Whether a start has left the check value yet. */
export const hasCheck = async (tx: Tx): Promise<boolean> => (await readFact(tx, checkName)) !== undefined;

/** Whether the check value is under the key that the vault seals with. */
export async function isCheckCurrent(tx: Tx, vault: Vault): Promise<boolean> {
  const known = await readFact(tx, checkName);
  return known !== undefined && vault.isCurrent(Buffer.from(known, "base64"));
}

/** From now on whoever starts needs the key that the vault seals with. */
export async function replaceCheck(tx: Tx, vault: Vault): Promise<void> {
  await setFact(tx, checkName, sealedCheck(vault));
}

/**
 * From now on nothing is sealed under any other key of the vault: whoever would is kept from writing, and whoever was about to has
 * finished. Gives those that were not retired before.
 */
export async function retireOlderKeys(tx: Tx, vault: Vault): Promise<string[]> {
  if (tx.dialect.lockSchema !== undefined) await tx.db.executeQuery(CompiledQuery.raw(tx.dialect.lockSchema.toChange));
  const retired = (await readFact(tx, retiredKeysFact))?.split(" ") ?? [];
  const added = vault.keyIds.slice(1).filter((id) => !retired.includes(id));
  if (added.length > 0) await setFact(tx, retiredKeysFact, [...retired, ...added].join(" "));
  return added;
}

/** Of several servers that start together, one leaves its value; the others find that one. */
async function leaveCheck(tx: Tx, vault: Vault): Promise<string> {
  const sealed = sealedCheck(vault);
  await setFactIfAbsent(tx, checkName, sealed);
  return (await readFact(tx, checkName)) ?? sealed;
}

const sealedCheck = (vault: Vault): string =>
  Buffer.from(vault.seal(checkOwner, Buffer.from(checkText))).toString("base64");

/**
 * The embedded database's own keys: a file beside it, readable by its owner alone, made on the first start. Each line holds one, and the
 * first is the one to seal with.
 */
export function keysBeside(databasePath: string): Uint8Array[] {
  const path = keyPathBeside(databasePath);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    try {
      writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
    } catch (error) {
      // Another server made it between the look and the write.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  chmodSync(path, 0o600);
  const lines = readFileSync(path, "utf8").trim().split(/\s+/);
  if (!lines.every((line) => /^[0-9a-f]{64}$/i.test(line)))
    throw new AppError(
      "conflict",
      `The key file ${path} does not hold 64 hex digits in each line. Restore it from your backup.`,
    );
  return lines.map((line) => Buffer.from(line, "hex"));
}

export function keyPathBeside(databasePath: string): string {
  return `${databasePath}.key`;
}
