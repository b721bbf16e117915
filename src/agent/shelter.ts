/**
 * As root, an agent executes jobs as users of their own, and they must get to what they need: every folder on the way has to be open to
 * them. What lies behind a closed one, as in root's home or in a temporary folder, is brought to a place that is open.
 */
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

/** Whether every folder above a path lets anybody pass. */
export function isOpen(path: string): boolean {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & passable) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/** A folder of root's in the system's temporary one, the same for the same agent. Raises SettingError. */
export function openShelter(home: string): string {
  const name = createHash("sha256").update(home).digest("hex").slice(0, 16);
  const shelter = join(realpathSync(tmpdir()), `cadastre-agent-${name}`);
  mkdirSync(shelter, { recursive: true, mode: 0o711 });
  const facts = lstatSync(shelter);
  if (!isOpen(shelter) || !facts.isDirectory() || facts.uid !== process.getuid?.())
    throw new SettingError(
      `Jobs are executed as users of their own, and they can't get to ${home}: a folder above it is closed to them. Choose another with CADASTRE_AGENT_DIRECTORY.`,
    );
  chmodSync(shelter, 0o711);
  return shelter;
}

/** The path itself where it is open, else that of a copy in the shelter, made once for each state of it. */
export function reachable(path: string, shelter: string): string {
  // Told by whoever needs it.
  if (!existsSync(path)) return path;
  const real = realpathSync(path);
  const facts = statSync(real);
  const isPlain = facts.isDirectory() ? (facts.mode & 0o005) === 0o005 : (facts.mode & 0o004) !== 0;
  if (isPlain && isOpen(real)) return path;
  const mark = createHash("sha256").update(`${real} ${facts.mtimeMs} ${facts.size}`).digest("hex").slice(0, 16);
  const copy = join(shelter, "brought", mark, real.slice(dirname(real).length + 1));
  if (existsSync(copy)) return copy;
  mkdirSync(dirname(copy), { recursive: true, mode: 0o755 });
  // Nothing by half where the agent is ended in the middle.
  const partial = `${dirname(copy)}/partial-${process.pid}`;
  cpSync(real, partial, { recursive: true, dereference: true });
  openUp(partial);
  renameSync(partial, copy);
  return copy;
}

function openUp(path: string): void {
  const { mode } = statSync(path);
  if (!statSync(path).isDirectory()) return chmodSync(path, (mode & 0o111) === 0 ? 0o644 : 0o755);
  chmodSync(path, 0o755);
  for (const name of readdirSync(path)) openUp(join(path, name));
}
