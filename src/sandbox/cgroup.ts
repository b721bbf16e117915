/** Memory and numbers of processes for each slot, by cgroups (v2), where the agent was given a subtree to divide. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { counted } from "../kernel/text.ts";

export interface CgroupLimits {
  readonly memoryBytes: number;
  readonly processes: number;
}

export interface Cgroup {
  readonly path: string;
  readonly add: (pid: number) => Promise<void>;
  readonly kill: () => void;
  /** How often a process was ended because there was no more memory for the job. */
  readonly outOfMemory: () => number;
}

export interface CgroupTree {
  readonly sentence: string;
  readonly slot: ((slot: number) => Cgroup) | undefined;
}

/** Tries what is needed, and says what came of it. */
export function openCgroups(limits: CgroupLimits, own = ownCgroup()): CgroupTree {
  if (limits.memoryBytes === 0 && limits.processes === 0)
    return { sentence: "Memory and processes of jobs are not limited, as the settings say.", slot: undefined };
  const missing = (why: string): CgroupTree => ({
    sentence: `Memory and processes of jobs are not limited: ${why}. Start the agent in a delegated cgroup (systemd: Delegate=yes) to have the limits kept.`,
    slot: undefined,
  });
  if (own === undefined) return missing("there is no cgroup (v2) here");
  const offered = readText(join(own, "cgroup.controllers")).split(/\s+/);
  if (!offered.includes("memory") || !offered.includes("pids"))
    return missing("the agent's cgroup has no controllers for them");
  try {
    divide(own);
  } catch (error) {
    return missing(`the agent's cgroup is not its own to divide (${(error as Error).message})`);
  }
  return {
    sentence: `Each job has ${told(limits)}, by cgroups.`,
    slot: (slot) => slotCgroup(join(own, `job-${slot}`), limits),
  };
}

const told = ({ memoryBytes, processes }: CgroupLimits) =>
  [
    memoryBytes === 0 ? "memory without limit" : `${Math.round(memoryBytes / 2 ** 20)} MB of memory`,
    processes === 0 ? "processes without limit" : counted(processes, "process", "processes"),
  ].join(" and ");

/** A cgroup with processes can't be divided: the agent moves into one of its own first. */
function divide(own: string): void {
  const agent = join(own, "agent");
  mkdirSync(agent, { recursive: true });
  for (const pid of readText(join(own, "cgroup.procs")).split("\n").filter(Boolean))
    writeFileSync(join(agent, "cgroup.procs"), pid);
  writeFileSync(join(own, "cgroup.subtree_control"), "+memory +pids");
}

function slotCgroup(path: string, { memoryBytes, processes }: CgroupLimits): Cgroup {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "memory.max"), memoryBytes === 0 ? "max" : String(memoryBytes));
  if (existsSync(join(path, "memory.swap.max")) && memoryBytes !== 0) writeFileSync(join(path, "memory.swap.max"), "0");
  writeFileSync(join(path, "pids.max"), processes === 0 ? "max" : String(processes));
  return cgroupAt(path);
}

/** One whose limits are set already. */
export function cgroupAt(path: string): Cgroup {
  return {
    path,
    add: (pid) => writeFile(join(path, "cgroup.procs"), String(pid)),
    kill: () => {
      if (existsSync(join(path, "cgroup.kill"))) writeFileSync(join(path, "cgroup.kill"), "1");
    },
    outOfMemory: () => Number(/^oom_kill (\d+)$/m.exec(readText(join(path, "memory.events")))?.[1] ?? 0),
  };
}

function ownCgroup(): string | undefined {
  const path = /^0::(.*)$/m.exec(readText("/proc/self/cgroup"))?.[1];
  const mount = /^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 /m.exec(readText("/proc/self/mountinfo"));
  if (path === undefined || mount === null) return undefined;
  const [, root = "/", point = ""] = mount;
  return join(point, root === "/" ? path : path.slice(root.length));
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
