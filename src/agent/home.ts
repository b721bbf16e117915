/** The agent's own directory: of one agent at a time, cleared of what an earlier one left, and of what its jobs need of the system. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { SettingError } from "../kernel/settings.ts";
import { foldersOf } from "./directory.ts";
import { removeTree } from "./files.ts";
import type { Job } from "./job.ts";
import { isRoot } from "../sandbox/choose.ts";
import { killEverythingOf, runMark } from "../sandbox/process.ts";
import { holdName } from "../sandbox/uids.ts";
import { keepLostState } from "./state.ts";

export interface AgentHome {
  /** Its real path. */
  readonly path: string;
  readonly release: () => void;
}

/** An agent that was killed takes a moment to end, and may be followed at once. */
const othersEnd = { tries: 50, pauseMs: 100 };

/** Makes it, and takes it for this process. Raises SettingError where another has it. */
export async function openHome(directory: string): Promise<AgentHome> {
  try {
    makeRooms(directory);
  } catch (error) {
    throw new SettingError(
      `The directory ${directory} can't be used (${(error as Error).message}). Choose another with CADASTRE_AGENT_DIRECTORY.`,
    );
  }
  const path = realpathSync(directory);
  const file = join(path, "agent.pid");
  const { dev, ino } = statSync(path);
  for (let tries = 1; ; tries += 1) {
    const other = otherOwner(file);
    // The file may be of another version of the program; of two that start together, one alone gets the name.
    const hold = other === undefined ? await holdName(`cadastre-agent-home-${dev}-${ino}`) : undefined;
    if (hold !== undefined) {
      writeFileSync(file, identity(process.pid), { mode: 0o600 });
      return { path, release: () => hold.close() };
    }
    if (tries >= othersEnd.tries)
      throw new SettingError(
        `Another agent${other === undefined ? "" : ` (process ${other})`} uses ${path}. Give each its own CADASTRE_AGENT_DIRECTORY.`,
      );
    await pause(othersEnd.pauseMs);
  }
}

/** The process that wrote the file, where it still runs and is not this one. */
function otherOwner(file: string): number | undefined {
  const written = existsSync(file) ? readFileSync(file, "utf8") : "";
  const pid = Number.parseInt(written, 10);
  return written !== "" && pid !== process.pid && written === identity(pid) ? pid : undefined;
}

/** Users of jobs pass through it to their own directories; nothing in it can be listed or read by them. */
export function makeRooms(directory: string): void {
  const mode = isRoot() ? 0o711 : 0o700;
  for (const path of [directory, join(directory, "jobs")]) {
    mkdirSync(path, { recursive: true, mode });
    chmodSync(path, mode);
  }
  mkdirSync(join(directory, "spool"), { recursive: true, mode: 0o700 });
}

/** A process's number, and when it began: numbers are used again. */
function identity(pid: number): string {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    return `${pid} ${fields[19]}`;
  } catch {
    return `${pid}`;
  }
}

/** What an agent left that was killed: what its engines started is killed, states of applies are kept, all else is removed. */
export async function clearHome(home: string, lost: string, say: (line: string) => void): Promise<void> {
  for (const name of await readdir(join(home, "jobs"))) {
    const how = "an earlier agent was ended while it was executed";
    await clearJob({ home, lost, job: { runId: name, phase: "apply", id: "" }, how }, say);
  }
  for (const name of await readdir(join(home, "spool"))) await removeTree(join(home, "spool", name));
}

export interface LeftJob {
  readonly home: string;
  readonly lost: string;
  readonly job: Pick<Job, "runId" | "phase" | "id">;
  /** How it came to be left, for the line that says where its state is. */
  readonly how: string;
}

export async function clearJob({ home, lost, job, how }: LeftJob, say: (line: string) => void): Promise<void> {
  const { root, spool } = foldersOf(home, job);
  killEverythingOf({ uid: undefined, mark: runMark(job.runId) });
  for (const file of statesIn(join(root, "configuration"))) {
    const kept = await keepLostState(lost, job, root, file).catch(() => undefined);
    if (kept !== undefined) say(`${job.runId}: ${how}; a state that it left is in ${kept}.`);
  }
  await removeTree(root);
  if (job.id !== "") await removeTree(spool);
}

const depthMax = 8;

/** Where engines write states: only names are looked at, and links are not followed. */
function statesIn(folder: string, depth = 0): string[] {
  if (depth > depthMax) return [];
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === ".terraform" ? [] : statesIn(path, depth + 1);
      return entry.name === "terraform.tfstate" && entry.isFile() ? [path] : [];
    });
  } catch {
    return [];
  }
}

const systemBundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** For this process's own connections. Raises SettingError. */
export function trustCertificates(ca: string): void {
  setDefaultCACertificates([...getCACertificates("default"), readCertificates(ca)]);
}

/** One file with the system's certificates and those of the setting, for engines and for git. Raises SettingError. */
export function writeCertificates(home: string, extra: string): string {
  const own = readCertificates(extra);
  const bundle = systemBundles.find((path) => existsSync(path));
  mkdirSync(join(home, "etc"), { recursive: true, mode: 0o755 });
  const path = join(home, "etc", "ca.pem");
  writeFileSync(path, `${bundle === undefined ? "" : readFileSync(bundle, "utf8")}\n${own}`, { mode: 0o644 });
  return path;
}

/** Raises SettingError. */
function readCertificates(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingError(`CADASTRE_AGENT_CA can't be read (${(error as Error).message}).`);
  }
  if (!text.includes("-----BEGIN CERTIFICATE-----"))
    throw new SettingError(`CADASTRE_AGENT_CA must name a file of certificates (PEM); ${path} is none.`);
  return text;
}
