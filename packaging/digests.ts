/** Hashes files, in the format of `sha256sum -c`. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { pipeline } from "node:stream/promises";

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

export interface FileDigest {
  readonly name: string;
  readonly sha256: string;
}

export const digestOf = async (path: string): Promise<FileDigest> => ({
  name: basename(path),
  sha256: await sha256Of(path),
});

export const checksumsOf = (files: readonly FileDigest[]): string =>
  files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).join("");
