/** A mirror of engine releases with the tests' own signing key, over TLS or without. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createPlainServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { createMessage, generateKey, type PrivateKey, sign, type SubkeyOptions } from "openpgp";
import type { EngineName } from "../../src/agent/products.ts";
import { type ZipPart, zipOf } from "./zip.ts";

const fixture = (name: string) => fileURLToPath(new URL(`../cli/fixtures/${name}`, import.meta.url));

/** Signs the mirror's certificate, for `CADASTRE_AGENT_CA`. */
export const mirrorCa = fixture("localhost-cert.pem");

export type MirrorAnswer = (request: IncomingMessage, response: ServerResponse) => void;

export interface PublishedRelease {
  readonly parts?: readonly ZipPart[];
  readonly archive?: Buffer;
  /** The version that the archive's name, and its line in the checksums, has. */
  readonly named?: string;
  readonly checksum?: string;
  readonly signedBy?: SigningKey;
  readonly signedAt?: Date;
}

export interface SigningKey {
  readonly privateKey: PrivateKey;
  readonly armoredPublicKey: string;
  readonly fingerprint: string;
}

export async function newSigningKey(
  options: { date?: Date; keyExpirationTime?: number; subkeys?: SubkeyOptions[] } = {},
): Promise<SigningKey> {
  const { privateKey } = await generateKey({
    userIDs: [{ name: "Publisher", email: "publisher@example.com" }],
    type: "curve25519",
    format: "object",
    ...options,
  });
  const publicKey = privateKey.toPublic();
  return { privateKey, armoredPublicKey: publicKey.armor(), fingerprint: publicKey.getFingerprint().toUpperCase() };
}

export const archiveNameOf = ({ product, version }: EngineName): string =>
  `${product}_${version}_linux_${process.arch === "x64" ? "amd64" : process.arch}.zip`;

export class EngineMirror {
  /** Each request's path. */
  readonly requests: string[] = [];
  readonly #files = new Map<string, Buffer | MirrorAnswer>();
  readonly #server: Server;
  readonly #isPlain: boolean;
  readonly key: SigningKey;

  private constructor(key: SigningKey, isPlain: boolean) {
    this.key = key;
    this.#isPlain = isPlain;
    const answer = (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response);
    this.#server = isPlain
      ? createPlainServer(answer)
      : createServer({ cert: readFileSync(mirrorCa), key: readFileSync(fixture("localhost-key.pem")) }, answer);
  }

  static async start({ isPlain = false } = {}): Promise<EngineMirror> {
    const mirror = new EngineMirror(await newSigningKey(), isPlain);
    await mirror.listen();
    return mirror;
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.#isPlain ? "http" : "https"}://localhost:${this.port}/engines`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  writeKeys(file: string, ...keys: readonly SigningKey[]): string {
    writeFileSync(file, [this.key, ...keys].map(({ armoredPublicKey }) => armoredPublicKey).join("\n"));
    return file;
  }

  async publish(engine: EngineName, release: PublishedRelease = {}): Promise<void> {
    const { product, version } = engine;
    const archiveName = archiveNameOf({ product, version: release.named ?? version });
    const archive =
      release.archive ??
      zipOf(release.parts ?? [programPart(engine), { name: "LICENSE.txt", content: "free", mode: 0o100644 }]);
    const checksum = release.checksum ?? createHash("sha256").update(archive).digest("hex");
    const checksums = Buffer.from(
      `${"0".repeat(64)}  ${product}_${version}_plan9_386.zip\n${checksum}  ${archiveName}\n`,
    );
    const { privateKey } = release.signedBy ?? this.key;
    const signature = await sign({
      message: await createMessage({ binary: checksums }),
      signingKeys: privateKey,
      detached: true,
      format: "binary",
      ...(release.signedAt !== undefined && { date: release.signedAt }),
    });
    const sums = `${product}_${version}_SHA256SUMS`;
    this.put(engine, archiveNameOf(engine), archive);
    this.put(engine, sums, checksums);
    this.put(engine, `${sums}.${product === "tofu" ? "gpgsig" : "sig"}`, Buffer.from(signature));
  }

  put({ product, version }: EngineName, file: string, content: Buffer | MirrorAnswer): void {
    this.#files.set(`/engines/${product}/${version}/${file}`, content);
  }

  remove({ product, version }: EngineName, file: string): void {
    this.#files.delete(`/engines/${product}/${version}/${file}`);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? "";
    this.requests.push(path);
    const file = this.#files.get(path);
    if (file === undefined) response.writeHead(404).end();
    else if (typeof file === "function") file(request, response);
    else response.writeHead(200, { "content-length": file.length }).end(file);
  }
}

const standIn = fileURLToPath(new URL("engine.mjs", import.meta.url));

/** The stand-in engine, for agents without a sandbox: it runs from the checkout. */
export const programPart = ({ product }: Pick<EngineName, "product">): ZipPart => ({
  name: product,
  content: `#!/bin/sh\nexec "${process.execPath}" "${standIn}" "$@"\n`,
});
