/**
 * `npm run release`: builds all release files of a commit in dist/release: the npm package, the archives with Node, the SBOM, the provenance
 * and the checksums. Fails if version, tag and changelog don't match.
 *
 *   npm version minor && npm run release      release the next version
 *   npm run release -- --snapshot             the same for any commit, with a snapshot version
 */
import { readFileSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { migrations } from "../src/database/migrate.ts";
import { packForNpm, packWithNode } from "./archives.ts";
import { build } from "./build.ts";
import { readCommit, readLock, readVersionSources } from "./checkout.ts";
import { checksumsOf, type FileDigest, digestOf } from "./digests.ts";
import { releaseFolder, root } from "./paths.ts";
import { provenanceOf } from "./provenance.ts";
import { sbomOf } from "./sbom.ts";
import { parseReleases, releasesPath, schemaFaults } from "./schema.ts";
import { versionFaults, releaseFaults, snapshotVersion } from "./versions.ts";

const { values } = parseArgs({ options: { snapshot: { type: "boolean", default: false } } });
const startedAt = new Date();
const [sources, commit, lock] = await Promise.all([readVersionSources(), readCommit(), readLock()]);

const releases = parseReleases(readFileSync(join(root, releasesPath), "utf8"));
const faults = [
  ...(values.snapshot ? versionFaults(sources) : releaseFaults(sources, commit)),
  ...schemaFaults(sources.version, migrations, releases),
];
if (faults.length > 0) {
  for (const fault of faults) console.error(fault);
  if (!values.snapshot) console.error("To build any commit, use npm run release -- --snapshot");
  process.exit(1);
}

const version = values.snapshot ? snapshotVersion(sources.version, commit.id) : sources.version;
await rm(releaseFolder, { recursive: true, force: true });
await mkdir(releaseFolder, { recursive: true });
const contained = await build(version);
const { seconds } = commit;
const archives = [await packForNpm(), await packWithNode(version, seconds)];
const sbom = await writeDocument(
  `cadastre-${version}.cdx.json`,
  await sbomOf({ version, contained, seconds, node: { version: process.versions.node } }),
);
const subjects = [...(await Promise.all(archives.map(digestOf))), sbom];
const provenance = await writeDocument(
  `cadastre-${version}.provenance.json`,
  await provenanceOf(subjects, { version, commit, lock, contained, startedAt, isSnapshot: values.snapshot }),
);
await writeFile(join(releaseFolder, "SHA256SUMS"), checksumsOf([...subjects, provenance]));
console.log(
  `Cadastre ${version} of commit ${commit.id.slice(0, 12)}${commit.isClean ? "" : ", with uncommitted changes"}:`,
);
for (const { name } of [...subjects, provenance]) console.log(`  dist/release/${name}`);
console.log("To verify: cd dist/release && sha256sum -c SHA256SUMS");

async function writeDocument(name: string, document: object): Promise<FileDigest> {
  const path = join(releaseFolder, name);
  await writeFile(path, `${JSON.stringify(document, null, 2)}\n`);
  return digestOf(path);
}
