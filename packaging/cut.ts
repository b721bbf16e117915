/**
 * Prepares a release; `npm version` runs it between package.json and the tag. Moves the unreleased changes in the changelog to the version,
 * updates the chart and the README, and adds the schema and a small backup. Does nothing for X.Y.Z-dev.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrations } from "../src/database/migrate.ts";
import { output } from "./checkout.ts";
import { writeFixture } from "./fixture.ts";
import { readManifest } from "./manifest.ts";
import { root } from "./paths.ts";
import { fixturesPath, formatReleases, isInDevelopment, parseReleases, releaseOf, releasesPath } from "./schema.ts";
import { cutChangelog, newestReleased, tagOf } from "./versions.ts";

const { version } = await readManifest();
if (!isInDevelopment(version)) await cut();

async function cut(): Promise<void> {
  await listSchema();
  rewrite("CHANGELOG.md", (text) =>
    newestReleased(text) === version ? text : cutChangelog(text, version, new Date().toISOString().slice(0, 10)),
  );
  rewrite("deploy/helm/cadastre/Chart.yaml", (text) => text.replace(/^appVersion: .*$/m, `appVersion: "${version}"`));
  rewrite("README.md", (text) => text.replace(/^( *Cadastre )\d+\.\d+\.\d+$/m, `$1${version}`));
}

/** Throws if this version was released with another schema. */
async function listSchema(): Promise<void> {
  const releases = parseReleases(readFileSync(join(root, releasesPath), "utf8"));
  const current = releaseOf(version, migrations);
  const listed = releases.find((release) => release.version === version);
  const fixture = join(fixturesPath, `${version}.backup`);
  if (listed?.digest === current.digest && existsSync(join(root, fixture))) return;
  if (listed !== undefined && (await output("git", "tag", "--list", tagOf(version))) !== "")
    throw new Error(
      `${version} was released with the schema of ${listed.newest}. Make another version with 'npm version'.`,
    );
  rewrite(releasesPath, () => formatReleases([...releases.filter((release) => release !== listed), current]));
  await writeFixture(join(root, fixture));
  stage(fixture);
}

function rewrite(name: string, change: (text: string) => string): void {
  const path = join(root, name);
  writeFileSync(path, change(readFileSync(path, "utf8")));
  stage(name);
}

/** Stages the file, so that npm commits it. */
function stage(name: string): void {
  execFileSync("git", ["add", name], { cwd: root });
}
