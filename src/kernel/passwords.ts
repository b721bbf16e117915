/** Hashes and verifies passwords with Argon2id. */
import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

export const passwordLengthMin = 10;
export const passwordLengthMax = 256;

const derive = promisify(argon2);

/** OWASP's minimum: 19 MiB and two passes. Stored with each hash, so that it can be raised. */
const cost = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const saltBytes = 16;
const tagBytes = 32;

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes);
  const tag = await tagOf(password, { ...cost, nonce: salt, tagLength: tagBytes });
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(salt)}$${unpadded(tag)}`;
}

/** Takes equally long without a stored hash, so that the time does not reveal who has a password. */
export async function isPassword(password: string, stored: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt = "", tag = ""] = storedFormat.exec(stored ?? unknownUserHash) ?? [];
  const expected = Buffer.from(tag, "base64");
  const given = await tagOf(password, {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    nonce: Buffer.from(salt, "base64"),
    tagLength: expected.length,
  });
  return timingSafeEqual(given, expected) && stored !== undefined;
}

const storedFormat = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;
const unpadded = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");
const unknownUserHash = `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=${cost.parallelism}$${unpadded(Buffer.alloc(saltBytes))}$${unpadded(Buffer.alloc(tagBytes))}`;

/** Normalized, so that different keyboards produce the same password. */
const tagOf = (password: string, parameters: Omit<Argon2Parameters, "message">): Promise<Buffer> =>
  derive("argon2id", { ...parameters, message: password.normalize("NFC") });

const lettersOfWord = "abcdefghijkmnpqrstuvwxyz23456789";
const wordCount = 4;
const wordLength = 5;

export function newPassword(): string {
  const bytes = randomBytes(wordCount * wordLength);
  const letters = Array.from(bytes, (byte) => lettersOfWord[byte % lettersOfWord.length] ?? "");
  return Array.from({ length: wordCount }, (_, word) =>
    letters.slice(word * wordLength, (word + 1) * wordLength).join(""),
  ).join("-");
}
