/** Addresses (in HCP Terraform's notation), fingerprints and JSON texts of a state's instances. */
import { createHash, hash, type Hash } from "node:crypto";
import { type JsonReader, JsonScanner } from "./json-scanner.ts";

/** Larger instances are skipped. */
const instanceBytesMax = 256 * 1024;
const keptBytesMax = 8 * 1024 * 1024;

export class InstanceTextReader {
  readonly texts = new Map<string, string>();
  readonly #scanner: JsonScanner;
  #keptBytes = 0;

  constructor(fingerprints: ReadonlySet<string>) {
    const instance = new InstanceTextCollector((fingerprint, bytes) => {
      if (!fingerprints.has(fingerprint) || this.texts.has(fingerprint)) return;
      this.#keptBytes += bytes.length;
      if (this.#keptBytes <= keptBytesMax) this.texts.set(fingerprint, bytes.toString("utf8"));
    });
    const below = (key: string, reader: JsonReader): JsonReader => ({
      member: (name) => (name === key ? reader : undefined),
    });
    const resource = below("instances", { element: () => instance });
    this.#scanner = new JsonScanner(below("resources", { element: () => resource }));
  }

  write(piece: Uint8Array): void {
    this.#scanner.write(piece);
  }
}

class InstanceTextCollector implements JsonReader {
  readonly #done: (fingerprint: string, bytes: Buffer) => void;
  readonly #fingerprint = new Fingerprint();
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(done: (fingerprint: string, bytes: Buffer) => void) {
    this.#done = done;
  }

  begin(): void {
    this.#fingerprint.begin();
    this.#pieces = [];
    this.#size = 0;
  }

  raw(piece: Buffer, isLast: boolean): void {
    this.#size += piece.length;
    const isKept = this.#size <= instanceBytesMax;
    if (!isKept) this.#pieces = [];
    const fingerprint = this.#fingerprint.add(piece, isLast);
    // A piece is valid only during the call.
    if (fingerprint === undefined) {
      if (isKept) this.#pieces.push(Buffer.from(piece));
    } else if (isKept) {
      this.#done(fingerprint, this.#pieces.length === 0 ? piece : Buffer.concat([...this.#pieces, piece]));
    }
  }
}

/** 132 bits distinguish the versions of an instance. */
const fingerprintLength = 22;

export class Fingerprint {
  #hash: Hash | undefined;

  begin(): void {
    this.#hash = undefined;
  }

  add(piece: Buffer, isLast: boolean): string | undefined {
    // Most instances are within one chunk, where a one-shot hash is much cheaper.
    if (isLast && this.#hash === undefined) return hash("sha256", piece, "base64url").slice(0, fingerprintLength);
    this.#hash ??= createHash("sha256");
    this.#hash.update(piece);
    return isLast ? this.#hash.digest("base64url").slice(0, fingerprintLength) : undefined;
  }
}

/** The key can contain any text, including dots and brackets. */
const moduleStep = /(?:^|\.)module\.([^.["]+(?:\[(?:"(?:[^"\\]|\\.)*"|[^\]"]*)\])?)/y;

/** `module.a["k"].module.b` → `a["k"].b` */
export function modulePath(module: string): string {
  if (module === "") return "root";
  const steps: string[] = [];
  moduleStep.lastIndex = 0;
  while (moduleStep.lastIndex < module.length) {
    const step = moduleStep.exec(module)?.[1];
    if (step === undefined) return module;
    steps.push(step);
  }
  return steps.join(".");
}

/** A module path can precede, an alias (in OpenTofu also with a key) can follow. */
const sourced = /(?:^|\.)provider\["([^"]+)"\](?:\.[^."[]+(?:\[.*\])?)?$/s;
/** The notation before providers had sources. */
const unsourced = /(?:^|\.)provider\.([^."[\]]+)(?:\.[^."[\]]+)?$/;

/** `provider["registry.terraform.io/hashicorp/aws"].west` → `hashicorp/aws` */
export function providerName(provider: string): string {
  const source = sourced.exec(provider)?.[1];
  if (source !== undefined) return source.split("/").slice(-2).join("/");
  return unsourced.exec(provider)?.[1] ?? provider;
}

export type IndexKey = string | number | null;

/** `media_bucket.aws_s3_bucket.this["logs"]` */
export function instanceAddress(module: string, type: string, name: string, key: IndexKey): string {
  const path = module === "root" ? "" : `${module}.`;
  const index = key === null ? "" : `[${JSON.stringify(key)}]`;
  return `${path}${type}.${name}${index}`;
}
