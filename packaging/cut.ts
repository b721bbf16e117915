/** Run by `npm version` between package.json and the tag: what the changelog holds as unreleased becomes that version's, and the chart is for it. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readManifest } from "./manifest.ts";
import { root } from "./places.ts";
import { cutChangelog } from "./versions.ts";

const { version } = await readManifest();

function rewrite(name: string, change: (text: string) => string): void {
  const path = join(root, name);
  writeFileSync(path, change(readFileSync(path, "utf8")));
  // So that npm commits it with the rest.
  execFileSync("git", ["add", name], { cwd: root });
}

rewrite("CHANGELOG.md", (text) => cutChangelog(text, version, new Date().toISOString().slice(0, 10)));
rewrite("deploy/helm/cadastre/Chart.yaml", (text) => text.replace(/^appVersion: .*$/m, `appVersion: "${version}"`));
