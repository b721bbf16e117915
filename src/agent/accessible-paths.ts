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

const traversableByAll = 0o001;

export function isAccessible(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & traversableByAll) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** Always the same directory for one agent. Throws SettingError. */
export function createAccessibleDirectory(agentDirectory: string): string {
  const name = createHash("sha256").update(agentDirectory).digest("hex").slice(0, 16);
  const accessibleDirectory = join(realpathSync(tmpdir()), `cadastre-agent-${name}`);
  mkdirSync(accessibleDirectory, { recursive: true, mode: 0o711 });
  const stats = lstatSync(accessibleDirectory);
  if (!isAccessible(accessibleDirectory) || !stats.isDirectory() || stats.uid !== process.getuid?.())
    throw new SettingError(
      `Jobs run as separate users, which can't access ${agentDirectory}, because they can't traverse one of its parent directories. Set CADASTRE_AGENT_DIRECTORY to another directory.`,
    );
  chmodSync(accessibleDirectory, 0o711);
  return accessibleDirectory;
}

/** Returns the path if it is accessible, otherwise that of a copy, which is renewed when the file changes. */
export function accessiblePath(path: string, accessibleDirectory: string): string {
  // The program that needs the file reports that it is missing.
  if (!existsSync(path)) return path;
  const real = realpathSync(path);
  const stats = statSync(real);
  const isReadable = stats.isDirectory() ? (stats.mode & 0o005) === 0o005 : (stats.mode & 0o004) !== 0;
  if (isReadable && isAccessible(real)) return path;
  const version = createHash("sha256").update(`${real} ${stats.mtimeMs} ${stats.size}`).digest("hex").slice(0, 16);
  const copy = join(accessibleDirectory, "brought", version, real.slice(dirname(real).length + 1));
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
