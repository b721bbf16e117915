/** The agent's directory: ensures that only one agent uses it, cleans up after an earlier agent, and writes the certificate bundle. */
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
import { directoriesOf } from "./job-directory.ts";
import { removeTree } from "./files.ts";
import type { JobDocument } from "./job.ts";
import { logLine } from "./log-line.ts";
import { isRoot } from "../sandbox/choose.ts";
import { killAllProcesses, runMark } from "../sandbox/process.ts";
import { claimName } from "../sandbox/uids.ts";
import { saveLostState } from "./state.ts";

export interface ClaimedDirectory {
  readonly path: string;
  readonly release: () => void;
}

/** A killed agent can take a moment to exit after its successor has started. */
const exitWait = { tries: 50, pauseMs: 100 };

/** Throws SettingError if another agent uses the directory. */
export async function claimDirectory(directory: string): Promise<ClaimedDirectory> {
  try {
    createDirectories(directory);
  } catch (error) {
    throw new SettingError(
      `The directory ${directory} can't be used (${(error as Error).message}). Set CADASTRE_AGENT_DIRECTORY to another one.`,
    );
  }
  const path = realpathSync(directory);
  const file = join(path, "agent.pid");
  const { dev, ino } = statSync(path);
  for (let tries = 1; ; tries += 1) {
    const other = otherOwner(file);
    // Older versions only check the file. Of two agents that start at the same time, only one gets the name.
    const claim = other === undefined ? await claimName(`cadastre-agent-home-${dev}-${ino}`) : undefined;
    if (claim !== undefined) {
      writeFileSync(file, identity(process.pid), { mode: 0o600 });
      return { path, release: () => claim.close() };
    }
    if (tries >= exitWait.tries)
      throw new SettingError(
        `Another agent${other === undefined ? "" : ` (process ${other})`} uses ${path}. Give each agent its own CADASTRE_AGENT_DIRECTORY.`,
      );
    await pause(exitWait.pauseMs);
  }
}

function otherOwner(file: string): number | undefined {
  const content = existsSync(file) ? readFileSync(file, "utf8") : "";
  const pid = Number.parseInt(content, 10);
  return content !== "" && pid !== process.pid && content === identity(pid) ? pid : undefined;
}

/** The users of jobs can traverse these directories, but not list or read them. */
export function createDirectories(directory: string): void {
  const mode = isRoot() ? 0o711 : 0o700;
  for (const path of [directory, join(directory, "jobs")]) {
    mkdirSync(path, { recursive: true, mode });
    chmodSync(path, mode);
  }
  mkdirSync(join(directory, "spool"), { recursive: true, mode: 0o700 });
}

/** PID and start time, because PIDs are reused. */
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

export async function cleanDirectory(
  agentDirectory: string,
  lostStatesDirectory: string,
  say: (line: string) => void,
): Promise<void> {
  for (const name of await readdir(join(agentDirectory, "jobs"))) {
    const reason = "an earlier agent was killed";
    const job = { runId: name, phase: "apply", id: "" } as const;
    await cleanUpJob({ agentDirectory, lostStatesDirectory, job, reason }, say);
  }
  const spool = join(agentDirectory, "spool");
  for (const name of await readdir(spool)) await removeTree(join(spool, name));
}

export interface AbandonedJob {
  readonly agentDirectory: string;
  readonly lostStatesDirectory: string;
  readonly job: Pick<JobDocument, "runId" | "phase" | "id">;
  readonly reason: string;
}

export async function cleanUpJob(
  { agentDirectory, lostStatesDirectory, job, reason }: AbandonedJob,
  say: (line: string) => void,
): Promise<void> {
  const { root, spool } = directoriesOf(agentDirectory, job);
  killAllProcesses({ uid: undefined, mark: runMark(job.runId) });
  for (const file of statesIn(join(root, "configuration"))) {
    const saved = await saveLostState(lostStatesDirectory, job, root, file).catch(() => undefined);
    if (saved !== undefined) say(logLine("state saved", { run: job.runId, file: saved, reason }));
  }
  await removeTree(root);
  if (job.id !== "") await removeTree(spool);
}

const depthMax = 8;

/** It must not follow links. */
function statesIn(directory: string, depth = 0): string[] {
  if (depth > depthMax) return [];
  try {
    return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) return entry.name === ".terraform" ? [] : statesIn(path, depth + 1);
      return entry.name === "terraform.tfstate" && entry.isFile() ? [path] : [];
    });
  } catch {
    return [];
  }
}

const systemBundles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/** Throws SettingError. */
export function trustCertificates(ca: string): void {
  setDefaultCACertificates([...getCACertificates("default"), readCertificates(ca)]);
}

/** One file with the system's and the configured certificates, for engines and git. Throws SettingError. */
export function writeCertificates(agentDirectory: string, ca: string): string {
  const own = readCertificates(ca);
  const bundle = systemBundles.find((path) => existsSync(path));
  mkdirSync(join(agentDirectory, "etc"), { recursive: true, mode: 0o755 });
  const path = join(agentDirectory, "etc", "ca.pem");
  writeFileSync(path, `${bundle === undefined ? "" : readFileSync(bundle, "utf8")}\n${own}`, { mode: 0o644 });
  return path;
}

function readCertificates(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw new SettingError(`CADASTRE_AGENT_CA can't be read (${(error as Error).message}).`);
  }
  if (!text.includes("-----BEGIN CERTIFICATE-----"))
    throw new SettingError(`CADASTRE_AGENT_CA must be the path of a PEM file with certificates; ${path} has none.`);
  return text;
}
