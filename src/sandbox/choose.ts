/** Which sandbox works here: each is tried by running something in it. Refuses to go without one unless told so. */
import { accessSync, chmodSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SettingError } from "../kernel/settings.ts";
import { bubblewrapLaunch, insideBubblewrap } from "./bubblewrap.ts";
import { type Mounts, type Sandbox, type SandboxKind, type Tools, withLimits, withoutPrivileges } from "./launch.ts";
import { JobProcess } from "./process.ts";

export interface SandboxSettings {
  readonly agentDirectory: string;
  readonly sandbox: SandboxKind | undefined;
  readonly jobTmpMegabytes: number;
  readonly jobFileMegabytes: number;
  readonly jobOpenFiles: number;
}

const places = ["/usr/bin", "/bin", "/usr/local/bin", "/usr/sbin", "/sbin"];

export function findTools(): Tools {
  const find = (name: string) => places.map((place) => join(place, name)).find(isExecutable);
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

/** The strongest that works, or the one that is asked for. Raises SettingError with what is missing. */
export async function chooseSandbox(
  settings: SandboxSettings,
  mounts: Omit<Mounts, "job" | "engine">,
  uids: readonly number[] = [],
): Promise<Sandbox> {
  const tools = findTools();
  const asked: readonly SandboxKind[] = settings.sandbox === undefined ? ["bubblewrap", "user"] : [settings.sandbox];
  const reasons: string[] = [];
  for (const kind of asked) {
    const sandbox = makeSandbox(kind, settings, tools, uids);
    const reason = typeof sandbox === "string" ? sandbox : await probe(sandbox, settings, mounts);
    if (reason === undefined) return sandbox as Sandbox;
    reasons.push(`${kind}: ${reason}`);
  }
  throw new SettingError(
    `No sandbox works here (${reasons.join("; ")}). Install bubblewrap and allow unprivileged user namespaces, or start the agent as root, or set CADASTRE_SANDBOX=none to execute other people's code without any protection.`,
  );
}

/** A sandbox, or why there is none. */
export function makeSandbox(
  kind: SandboxKind,
  settings: SandboxSettings,
  tools: Tools,
  uids: readonly number[],
): Sandbox | string {
  const uidOf = (slot: number) => (kind === "none" ? undefined : uids[slot]);
  const limits = { fileBytes: settings.jobFileMegabytes * 2 ** 20, openFiles: settings.jobOpenFiles };
  if (kind === "bubblewrap") {
    const { bwrap } = tools;
    if (bwrap === undefined) return "the program bwrap is not installed";
    const options = { tmpBytes: settings.jobTmpMegabytes * 2 ** 20, identities: identities(settings.agentDirectory) };
    return {
      kind,
      sentence:
        "Jobs are executed in bubblewrap: they see their own files, processes and environment, and the network.",
      uidOf,
      inside: insideBubblewrap,
      launch: (command, mounts) => {
        const launch = bubblewrapLaunch(bwrap, command, mounts, options);
        return { ...launch, words: withLimits(tools, limits, launch.words) };
      },
    };
  }
  if (isRoot() && kind !== "none" && uids.length === 0) return "there is no user for it";
  if (kind === "user" && !isRoot()) return "the agent was not started as root";
  if (kind === "user" && tools.setpriv === undefined) return "the program setpriv is not installed";
  return {
    kind,
    sentence: sentences[kind],
    uidOf,
    inside: (mounts) => mounts,
    launch: ({ program, words, environment, directory }) => ({
      words: withLimits(tools, limits, withoutPrivileges(tools, [program, ...words])),
      environment,
      directory,
      secretArguments: undefined,
      tellsProcess: false,
    }),
  };
}

const sentences = {
  user: "Jobs are executed as users of their own, one for each slot: they see this machine's processes and what is readable to everybody.",
  none: "Jobs are executed WITHOUT a sandbox: whoever may start a run can read and do what this agent can, its token included.",
} as const;

/** Who one is inside. */
function identities(directory: string): string {
  const folder = join(directory, "etc");
  mkdirSync(folder, { recursive: true, mode: 0o755 });
  chmodSync(folder, 0o755);
  // Only once: jobs that run already see these files.
  const write = (name: string, text: string) => {
    const path = join(folder, name);
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text, { mode: 0o644 });
  };
  write("passwd", "root:x:0:0:root:/:/usr/sbin/nologin\nrun:x:1000:1000:run:/job/home:/bin/sh\n");
  write("group", "root:x:0:\nrun:x:1000:\n");
  return folder;
}

const probeMs = 15_000;

/** Why it does not work, or undefined. */
async function probe(
  sandbox: Sandbox,
  { agentDirectory }: SandboxSettings,
  others: Omit<Mounts, "job" | "engine">,
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
  const tried = new JobProcess(sandbox.launch(command, mounts), {
    merged: true,
    uid,
    cgroup: undefined,
    mark: "CADASTRE_PROBE=1",
  });
  const timer = setTimeout(() => tried.kill(), probeMs);
  try {
    let said = "";
    for await (const chunk of tried.stdout) said += String(chunk);
    const { code } = await tried.ended;
    return code === 0 && said === "works\n" ? undefined : said.trim() || `it ended with ${code}`;
  } finally {
    clearTimeout(timer);
    rmSync(job, { recursive: true, force: true });
  }
}
