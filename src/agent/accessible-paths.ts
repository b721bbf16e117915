/** Makes files accessible to the users of jobs when the agent runs as root: copies files behind a closed directory, such as root's home. */
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  statSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { SettingError } from "../kernel/settings.ts";

const passable = 0o001;

export function isAccessible(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & passable) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Always the same directory for one agent. Throws SettingError. */
export function createAccessibleDirectory(home: string): string {
  const name = createHash("sha256").update(home).digest("hex").slice(0, 16);
  const shelter = join(realpathSync(tmpdir()), `cadastre-agent-${name}`);
  mkdirSync(shelter, { recursive: true, mode: 0o711 });
  const facts = lstatSync(shelter);
  if (!isAccessible(shelter) || !facts.isDirectory() || facts.uid !== process.getuid?.())
    throw new SettingError(
      `Jobs run as separate users, which can't access ${home}, because they can't traverse one of its parent directories. Set CADASTRE_AGENT_DIRECTORY to another directory.`,
    );
  chmodSync(shelter, 0o711);
  return shelter;
}

/** Returns the path if it is accessible, otherwise that of a copy, which is renewed when the file changes. */
export function accessiblePath(path: string, shelter: string): string {
  // The program that needs the file reports that it is missing.
  if (!existsSync(path)) return path;
  const real = realpathSync(path);
  const facts = statSync(real);
  const isPlain = facts.isDirectory() ? (facts.mode & 0o005) === 0o005 : (facts.mode & 0o004) !== 0;
  if (isPlain && isAccessible(real)) return path;
  const mark = createHash("sha256").update(`${real} ${facts.mtimeMs} ${facts.size}`).digest("hex").slice(0, 16);
  const copy = join(shelter, "brought", mark, real.slice(dirname(real).length + 1));
  if (existsSync(copy)) return copy;
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 });
  // Renamed when complete: the agent can be killed meanwhile.
  const partial = `${dirname(copy)}/partial-${process.pid}`;
  cpSync(real, partial, { recursive: true, dereference: true });
  makeReadable(partial);
  renameSync(partial, copy);
  return copy;
}

function makeReadable(path: string): void {
  const { mode } = statSync(path);
  if (!statSync(path).isDirectory()) return chmodSync(path, (mode & 0o111) === 0 ? 0o644 : 0o755);
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) makeReadable(join(path, name));
}
