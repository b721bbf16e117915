/** The provenance of a release, as an in-toto statement with the SLSA predicate. */
import { join } from "node:path";
import { type ReleasedCommit, type PackageLock, output } from "./checkout.ts";
import type { BundledPackage } from "./bundled-packages.ts";
import { type FileDigest, sha256Of } from "./digests.ts";
import { root } from "./paths.ts";

export interface BuildRecord {
  readonly version: string;
  readonly commit: ReleasedCommit;
  readonly lock: PackageLock;
  readonly contained: readonly BundledPackage[];
  readonly startedAt: Date;
  readonly isSnapshot: boolean;
}

export async function provenanceOf(subjects: readonly FileDigest[], record: BuildRecord): Promise<object> {
  const { version, commit, startedAt, isSnapshot } = record;
  const command = `npm ci && npm run release${isSnapshot ? " -- --snapshot" : ""}`;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: subjects.map(({ name, sha256 }) => ({ name, digest: { sha256 } })),
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: "urn:cadastre:build:npm-run-release:v1",
        externalParameters: { version, command },
        internalParameters: { isClean: commit.isClean, tags: commit.tags },
        resolvedDependencies: await buildInputsOf(record),
      },
      runDetails: {
        builder: {
          id: process.env["CADASTRE_BUILDER"] ?? "urn:cadastre:builder:unnamed",
          version: { node: process.versions.node, npm: await output("npm", "--version") },
        },
        metadata: { startedOn: startedAt.toISOString(), finishedOn: new Date().toISOString() },
      },
    },
  };
}

interface BuildInput {
  readonly uri: string;
  readonly digest: Readonly<Record<string, string>>;
}

async function buildInputsOf({ commit, lock, contained }: BuildRecord): Promise<BuildInput[]> {
  const files = await Promise.all(
    ["package.json", "package-lock.json"].map(async (name) => ({
      uri: `file:${name}`,
      digest: { sha256: await sha256Of(join(root, name)) },
    })),
  );
  return [
    { uri: "git:HEAD", digest: { gitCommit: commit.id } },
    ...files,
    { uri: `file:node-${process.platform}-${process.arch}`, digest: { sha256: await sha256Of(process.execPath) } },
    ...contained.map((each) => inputOf(each, lock)),
  ];
}

/** From the lock file, which npm verifies on installation. */
function inputOf({ name, version }: BundledPackage, { packages }: PackageLock): BuildInput {
  const found = Object.entries(packages).find(
    ([path, locked]) => path.endsWith(`node_modules/${name}`) && locked.version === version,
  );
  const [, base64] = /^sha512-(.+)$/.exec(found?.[1].integrity ?? "") ?? [];
  if (base64 === undefined) throw new Error(`The lock file has no SHA-512 hash of ${name} ${version}.`);
  const uri = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return { uri, digest: { sha512: Buffer.from(base64, "base64").toString("hex") } };
}
