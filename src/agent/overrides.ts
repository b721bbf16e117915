/**
 * The backend of a run: a file that sorts last among the configuration's override files and replaces whatever `cloud` or `backend`
 * block is there by a local state. Refuses a configuration whose own override files would win over it.
 */
import { constants } from "node:fs";
import { open, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

const overrideName = "zzzz_cadastre_override.tf";
const overrideText = 'terraform {\n  backend "local" {}\n}\n';

const extensions = [".tf", ".tf.json", ".tofu", ".tofu.json"];
const overrideFile = /(?:^|_)override\.(?:tf|tofu)(?:\.json)?$/;
const stem = overrideName.slice(0, -".tf".length);
const fileBytesMax = 1024 ** 2;

/** The configuration can't be executed as it is; a sentence for whoever wrote it. */
export class ConfigurationFault extends Error {
  override readonly name = "ConfigurationFault";
}

/** The names, of those in a directory, that engines read after ours, or instead of it. */
export function laterOverrides(names: readonly string[]): string[] {
  return names.filter(
    (name) => overrideFile.test(name) && name !== overrideName && (name > overrideName || isNamesake(name)),
  );
}

const isNamesake = (name: string) => extensions.some((extension) => name === `${stem}${extension}`);

/** Whether a configuration file may name a backend. It errs on the side of yes: such a file is rare, and the sentence says what to do. */
export const mayNameBackend = (text: string): boolean =>
  // In JSON every letter of a name can be written as an escape.
  /\b(?:cloud|backend)\b|\\u00/.test(text);

/** Raises ConfigurationFault. */
export async function writeOverride(directory: string): Promise<void> {
  const names = await readdir(directory);
  for (const name of laterOverrides(names)) {
    if (isNamesake(name) || mayNameBackend(await readBounded(directory, name)))
      throw new ConfigurationFault(
        `The file ${name} would replace the backend that runs use. Rename it so that it sorts before ${overrideName}, or take its cloud or backend block out.`,
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
