/** Limits the memory and processes of each slot with cgroups v2, if the agent runs in a delegated cgroup. */
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
  readonly outOfMemory: () => number;
}

export interface CgroupTree {
  readonly description: string;
  readonly slot: ((slot: number) => Cgroup) | undefined;
}

export function openCgroups(limits: CgroupLimits, own = ownCgroup()): CgroupTree {
  if (limits.memoryBytes === 0 && limits.processes === 0)
    return { description: "Memory and processes of jobs are not limited, as configured.", slot: undefined };
  const unlimited = (reason: string): CgroupTree => ({
    description: `Memory and processes of jobs are not limited: ${reason}. Start the agent in a delegated cgroup (systemd: Delegate=yes) to enforce the limits.`,
    slot: undefined,
  });
  if (own === undefined) return unlimited("this machine has no cgroup v2");
  const offered = readText(join(own, "cgroup.controllers")).split(/\s+/);
  if (!offered.includes("memory") || !offered.includes("pids"))
    return unlimited("the agent's cgroup lacks the memory and pids controllers");
  try {
    delegate(own);
  } catch (error) {
    return unlimited(`the agent's cgroup is not delegated (${(error as Error).message})`);
  }
  return {
    description: `Each job is limited to ${describeLimits(limits)}.`,
    slot: (slot) => slotCgroup(join(own, `job-${slot}`), limits),
  };
}

const describeLimits = ({ memoryBytes, processes }: CgroupLimits) =>
  [
    memoryBytes === 0 ? "unlimited memory" : `${Math.round(memoryBytes / 2 ** 20)} MB of memory`,
    processes === 0 ? "unlimited processes" : counted(processes, "process", "processes"),
  ].join(" and ");

/** A cgroup that has processes can't have children with controllers, so the agent moves into a child first. */
function delegate(own: string): void {
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
