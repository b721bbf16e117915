/** Chooses the sandbox by running a test program in each. It must not fall back to none unless the settings say so. */
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SettingError } from "../kernel/settings.ts";
import { bubblewrapLaunch, insideBubblewrap } from "./bubblewrap.ts";
import {
  type MountPaths,
  type Sandbox,
  type SandboxKind,
  type SandboxTools,
  withLimits,
  withoutPrivileges,
} from "./launch.ts";
import { SandboxedProcess } from "./process.ts";

export interface SandboxSettings {
  readonly agentDirectory: string;
  readonly sandbox: SandboxKind | undefined;
  readonly jobTmpMegabytes: number;
  readonly jobFileMegabytes: number;
  readonly jobOpenFiles: number;
}

const programDirectories = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];

export function findTools(): SandboxTools {
  const find = (name: string) => programDirectories.map((directory) => join(directory, name)).find(isExecutable);
  return { bwrap: find("bwrap"), setpriv: find("setpriv"), prlimit: find("prlimit") };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export const isRoot = (): boolean => process.getuid?.() === 0;

/** Returns the configured sandbox, or the strongest that works. Throws SettingError with the reasons. */
export async function chooseSandbox(
  settings: SandboxSettings,
  mounts: Omit<MountPaths, "job" | "engine">,
  uids: readonly number[] = [],
): Promise<Sandbox> {
  const tools = findTools();
  const candidates: readonly SandboxKind[] =
    settings.sandbox === undefined ? ["bubblewrap", "user"] : [settings.sandbox];
  const reasons: string[] = [];
  for (const kind of candidates) {
    const sandbox = makeSandbox(kind, settings, tools, uids);
    const reason = typeof sandbox === "string" ? sandbox : await probe(sandbox, settings, mounts);
    if (reason === undefined) return sandbox as Sandbox;
    reasons.push(`${kind}: ${reason}`);
  }
  throw new SettingError(
    `No sandbox works here (${reasons.join("; ")}). Install bubblewrap and allow unprivileged user namespaces, start the agent as root, or set CADASTRE_SANDBOX=none to run other people's code without any protection.`,
  );
}

export function makeSandbox(
  kind: SandboxKind,
  settings: SandboxSettings,
  tools: SandboxTools,
  uids: readonly number[],
): Sandbox | string {
  const uidOf = (slot: number) => (kind === "none" ? undefined : uids[slot]);
  const limits = { fileBytes: settings.jobFileMegabytes * 2 ** 20, openFiles: settings.jobOpenFiles };
  if (kind === "bubblewrap") {
    const { bwrap } = tools;
    if (bwrap === undefined) return "the program bwrap is not installed";
    const options = {
      tmpBytes: settings.jobTmpMegabytes * 2 ** 20,
      identities: writeIdentities(settings.agentDirectory),
    };
    return {
      kind,
      description: "Jobs run in bubblewrap: they see only their own files, processes and environment, and the network.",
      uidOf,
      inside: insideBubblewrap,
      launch: (command, mounts) => {
        const launch = bubblewrapLaunch(bwrap, command, mounts, options);
        return { ...launch, words: withLimits(tools, limits, launch.words) };
      },
    };
  }
  if (isRoot() && kind !== "none" && uids.length === 0) return "no user id is available for its jobs";
  if (kind === "user" && !isRoot()) return "the agent was not started as root";
  if (kind === "user" && tools.setpriv === undefined) return "the program setpriv is not installed";
  return {
    kind,
    description: descriptions[kind],
    uidOf,
    inside: (mounts) => mounts,
    launch: ({ program, words, environment, directory }) => ({
      words: withLimits(tools, limits, withoutPrivileges(tools, [program, ...words])),
      environment,
      directory,
      secretArguments: undefined,
      reportsProcessId: false,
    }),
  };
}

const descriptions = {
  user: "Jobs run as separate users, one per slot: they see this machine's processes and world-readable files.",
  none: "Jobs run WITHOUT a sandbox: anyone who can start a run can read and do whatever this agent can, including its token.",
} as const;

function writeIdentities(directory: string): string {
  const identities = join(directory, "etc");
  mkdirSync(identities, { recursive: true, mode: 0o755 });
  chmodSync(identities, 0o755);
  // Unchanged files are not rewritten, because running jobs see them.
  const write = (name: string, text: string) => {
    const path = join(identities, name);
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text, { mode: 0o644 });
  };
  write("passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nrun:x:1000:1000:run:/job/home:/bin/sh\n");
  write("group", "root:x:0:\nrun:x:1000:\n");
  return identities;
}

const probeMs = 15_000;

async function probe(
  sandbox: Sandbox,
  { agentDirectory }: SandboxSettings,
  others: Omit<MountPaths, "job" | "engine">,
): Promise<string | undefined> {
  const job = join(agentDirectory, "jobs", "probe");
  mkdirSync(job, { recursive: true, mode: 0o755 });
  chmodSync(job, 0o755);
  const mounts = { ...others, job, engine: "/bin/sh" };
  const command = {
    program: "/bin/sh",
    words: ["-c", "echo works"],
    environment: {},
    directory: sandbox.inside(mounts).job,
  };
  const uid = sandbox.uidOf(0);
  const process = new SandboxedProcess(sandbox.launch(command, mounts), {
    merged: true,
    uid,
    cgroup: undefined,
    mark: "CADASTRE_PROBE=1",
  });
  const timer = setTimeout(() => process.kill(), probeMs);
  try {
    let output = "";
    for await (const chunk of process.stdout) output += String(chunk);
    const { code } = await process.ended;
    return code === 0 && output === "works\n" ? undefined : output.trim() || `exit code ${code}`;
  } finally {
    clearTimeout(timer);
    rmSync(job, { recursive: true, force: true });
  }
}
