/**
 * Encryption at rest: AES-256-GCM under one key, each value bound to the row that it belongs to, so that it can't be moved
 * to another. A check value in the database refuses a server that was started with another key.
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
import { AppError } from "../kernel/errors.ts";
import type { Database, Tx } from "./database.ts";
import { leaveFact, readFact } from "./meta.ts";

const nonceBytes = 12;
const tagBytes = 16;
const keyIdBytes = 8;
/** A sealed value: this byte, the key's id, the nonce, the encrypted bytes, the tag. */
const format = 1;
const headBytes = 1 + keyIdBytes;
/** How much longer a sealed value is than what is in it. */
export const sealedMoreBytes = headBytes + nonceBytes + tagBytes;

export interface Vault {
  /** Names the key without telling anything of it. */
  readonly keyId: string;
  /** `owner` names the row and column: `ssh_keys/sshkey-1/value`. */
  seal(owner: string, plain: Uint8Array): Uint8Array;
  /** Raises an Error when the value was changed, belongs to another owner, or was sealed under another key. */
  open(owner: string, sealed: Uint8Array): Uint8Array;
  /** Proves later that a text came from us: every server with the same key agrees. */
  sign(text: string): string;
  /** In a time that tells nothing of how close a guess was. */
  isSignature(text: string, signature: string): boolean;
}

export function createVault(key: Uint8Array): Vault {
  const id = createHash("sha256").update("cadastre key id").update(key).digest().subarray(0, keyIdBytes);
  const keyId = id.toString("hex");
  // Another key than the one that encrypts, so that neither use tells anything of the other.
  const signingKey = Buffer.from(hkdfSync("sha256", key, "", "cadastre signatures", 32));
  const hmac = (text: string) => createHmac("sha256", signingKey).update(text).digest();
  return {
    keyId,
    sign: (text) => hmac(text).toString("base64url"),
    isSignature(text, signature) {
      const [expected, sent] = [hmac(text), Buffer.from(signature, "base64url")];
      return sent.length === expected.length && timingSafeEqual(sent, expected);
    },
    seal(owner, plain) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(owner));
      const body = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([Buffer.from([format]), id, nonce, body, cipher.getAuthTag()]);
    },
    open(owner, sealed) {
      // A view, not a copy: contents pass here by the megabyte.
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes[0] !== format || bytes.length < sealedMoreBytes)
        throw new Error("a sealed value has an unknown format");
      if (!bytes.subarray(1, headBytes).equals(id)) throw new Error("a value was sealed under another key");
      const nonce = bytes.subarray(headBytes, headBytes + nonceBytes);
      const decipher = createDecipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(owner));
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

/** The first server leaves a check value; every later one must be able to open it. Raises `conflict`. */
export async function checkVault(database: Database, vault: Vault): Promise<void> {
  const known = (await readFact(database.reader, checkName)) ?? (await database.write((tx) => leaveCheck(tx, vault)));
  try {
    vault.open(checkOwner, Buffer.from(known, "base64"));
  } catch {
    throw new AppError(
      "conflict",
      "The encryption key is not the one that this database was made with. Set CADASTRE_ENCRYPTION_KEY to that key.",
    );
  }
}

/** Of several servers that start together, one leaves its value; the others find that one. */
async function leaveCheck(tx: Tx, vault: Vault): Promise<string> {
  const sealed = Buffer.from(vault.seal(checkOwner, Buffer.from(checkText))).toString("base64");
  await leaveFact(tx, checkName, sealed);
  return (await readFact(tx, checkName)) ?? sealed;
}

/** The embedded database's own key: a file beside it, readable by its owner alone, made on the first start. */
export function keyBeside(databasePath: string): Uint8Array {
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
  const key = Buffer.from(readFileSync(path, "utf8").trim(), "hex");
  if (key.length !== 32)
    throw new AppError("conflict", `The key file ${path} does not hold 64 hex digits. Restore it from your backup.`);
  return key;
}

export function keyPathBeside(databasePath: string): string {
  return `${databasePath}.key`;
}
