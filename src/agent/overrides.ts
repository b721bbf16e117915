/** Replaces the `cloud` or `backend` block by an override file that sorts last. Rejects files that would take precedence. */
import { constants } from "node:fs";
import { open, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

const overrideName = "zzzz_cadastre_override.tf";
const overrideText = 'terraform {\n  backend "local" {}\n}\n';

const extensions = [".tf", ".tf.json", ".tofu", ".tofu.json"];
const overrideFile = /(?:^|_)override\.(?:tf|tofu)(?:\.json)?$/;
const stem = overrideName.slice(0, -".tf".length);
const fileBytesMax = 1024 ** 2;

/** The message is shown with the run. */
export class ConfigurationFault extends Error {
  override readonly name = "ConfigurationFault";
}

/** Those that engines read after ours, or instead of it. */
export function laterOverrides(names: readonly string[]): string[] {
  return names.filter(
    (name) => overrideFile.test(name) && name !== overrideName && (name > overrideName || isNamesake(name)),
  );
}

const isNamesake = (name: string) => extensions.some((extension) => name === `${stem}${extension}`);

/** Rare false positives are acceptable: the error says what to do. */
export const canNameBackend = (text: string): boolean =>
  // JSON can write any letter as an escape.
  /\b(?:cloud|backend)\b|\\u00/.test(text);

/** Throws ConfigurationFault. */
export async function writeOverride(directory: string): Promise<void> {
  const names = await readdir(directory);
  for (const name of laterOverrides(names)) {
    if (isNamesake(name) || canNameBackend(await readBounded(directory, name)))
      throw new ConfigurationFault(
        `The file ${name} would replace the backend that runs use. Rename it so that it sorts before ${overrideName}, or remove its cloud or backend block.`,
      );
  }
  const path = join(directory, overrideName);
  await rm(path, { force: true });
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o644);
  try {
    await file.writeFile(overrideText);
  } finally {
    await file.close();
  }
}

async function readBounded(directory: string, name: string): Promise<string> {
  const file = await open(await realpath(join(directory, name)), constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const { size } = await file.stat();
    if (size > fileBytesMax) throw new ConfigurationFault(`The file ${name} is too large for an override file.`);
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
