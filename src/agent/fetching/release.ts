/** Fetches one release from the mirror, and verifies it completely before its program exists as a file that can be executed. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ArchiveFault } from "../../archive/faults.ts";
import { extractProgram } from "../../archive/zip.ts";
import { downloadBytes, downloadFile, DownloadMissing, DownloadRefused } from "../../outgoing/download.ts";
import { OutgoingError } from "../../outgoing/request.ts";
import { type EngineName, engineText, isEngineVersion, type Product } from "../products.ts";
import { EngineRefusal, EngineUnavailable } from "./faults.ts";
import { type EngineFetchSettings, fetchingOff } from "./settings.ts";
import { readSigningKeys, verifySignature } from "./signatures.ts";

const mebibyte = 1024 ** 2;
const bytesMax = {
  checksums: mebibyte,
  signature: mebibyte,
  archive: 512 * mebibyte,
  program: 1024 * mebibyte,
} as const;

const signatureSuffixes: Readonly<Record<Product, string>> = { terraform: "sig", tofu: "gpgsig" };

const officialFolders: Readonly<Record<Product, (version: string) => string>> = {
  terraform: (version) => `https://releases.hashicorp.com/terraform/${version}`,
  tofu: (version) => `https://github.com/opentofu/opentofu/releases/download/v${version}`,
};

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

export type EngineSource = Pick<EngineFetchSettings, "engineMirror" | "engineMirrorInsecure" | "engineKeys">;

export interface FetchedRelease {
  readonly archive: string;
  readonly sha256: string;
  /** The fingerprint of the key that signed it. */
  readonly key: string;
}

interface ReleaseFiles {
  readonly checksums: string;
  readonly signature: string;
  readonly archive: string;
}

function releaseFiles({ product, version }: EngineName): ReleaseFiles {
  const checksums = `${product}_${version}_SHA256SUMS`;
  const architecture = architectures[process.arch] ?? process.arch;
  return {
    checksums,
    signature: `${checksums}.${signatureSuffixes[product]}`,
    archive: `${product}_${version}_linux_${architecture}.zip`,
  };
}

function folderOf({ product, version }: EngineName, { engineMirror }: EngineSource): string {
  return engineMirror === undefined
    ? officialFolders[product](version)
    : `${engineMirror}/${product}/${encodeURIComponent(version)}`;
}

/** Creates the directory with only the program in it. Throws EngineRefusal, EngineUnavailable. */
export async function fetchRelease(
  engine: EngineName,
  source: EngineSource,
  directory: string,
  signal: AbortSignal,
): Promise<FetchedRelease> {
  return withFaults(engine, async () => {
    const files = releaseFiles(engine);
    const address = (file: string) => `${folderOf(engine, source)}/${file}`;
    const options = { isPlainAllowed: source.engineMirrorInsecure, signal };
    const keys = await readSigningKeys(engine.product, source.engineKeys);
    const checksums = await fetchChecksums(engine, source, signal);
    const signature = await downloadBytes(address(files.signature), { ...options, bytesMax: bytesMax.signature }).catch(
      (error: Error) => {
        throw error instanceof DownloadMissing ? new EngineRefusal(`It is not signed: ${error.message}`) : error;
      },
    );
    const key = await verifySignature(checksums, { bytes: signature, file: files.signature }, keys);
    const expected = checksumOf(checksums.toString("latin1"), files.archive);
    const spooled = `${directory}.zip`;
    try {
      await rm(spooled, { force: true });
      const sha256 = await downloadFile(address(files.archive), spooled, { ...options, bytesMax: bytesMax.archive });
      if (sha256 !== expected)
        throw new EngineRefusal(
          `The archive ${files.archive} has the checksum ${sha256}, but its publisher signed ${expected}.`,
        );
      await mkdir(directory, { mode: 0o755 });
      const target = join(directory, engine.product);
      await extractProgram(spooled, { name: engine.product, target, bytesMax: bytesMax.program });
      return { archive: address(files.archive), sha256, key };
    } finally {
      await rm(spooled, { force: true });
    }
  });
}

/** Whether the mirror has the release, which is not verified. Throws EngineRefusal, EngineUnavailable. */
export async function probeRelease(engine: EngineName, source: EngineSource, signal: AbortSignal): Promise<void> {
  await withFaults(engine, () => fetchChecksums(engine, source, signal));
}

async function fetchChecksums(engine: EngineName, source: EngineSource, signal: AbortSignal): Promise<Buffer> {
  if (source.engineMirror === fetchingOff)
    throw new EngineUnavailable("it is not installed, and CADASTRE_ENGINE_MIRROR is off");
  if (!isEngineVersion(engine.version)) throw new EngineUnavailable("it is not the version of a release");
  const url = `${folderOf(engine, source)}/${releaseFiles(engine).checksums}`;
  return downloadBytes(url, { isPlainAllowed: source.engineMirrorInsecure, signal, bytesMax: bytesMax.checksums });
}

/** The line of another version's archive must not count, so the names are compared completely. Throws EngineRefusal. */
function checksumOf(checksums: string, archive: string): string {
  const found = checksums.split(/\r?\n/).flatMap((line) => {
    const [, checksum, file] = /^([0-9a-f]{64}) [ *](\S+)$/i.exec(line) ?? [];
    return checksum !== undefined && file === archive ? [checksum.toLowerCase()] : [];
  });
  const [checksum, ...others] = found;
  if (checksum === undefined || others.length > 0)
    throw new EngineRefusal(`The signed checksums have ${checksum === undefined ? "none" : "several"} for ${archive}.`);
  return checksum;
}

async function withFaults<Result>(engine: EngineName, work: () => Promise<Result>): Promise<Result> {
  const refusal = (reason: string) => new EngineRefusal(`${engineText(engine)} was refused. ${reason}`);
  try {
    return await work();
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof EngineRefusal || error instanceof DownloadRefused || error instanceof ArchiveFault)
      throw refusal(message);
    if (error instanceof EngineUnavailable || error instanceof OutgoingError)
      throw new EngineUnavailable(message.replace(/\.$/, ""));
    throw error;
  }
}
