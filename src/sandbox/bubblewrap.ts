/** Builds the arguments of bubblewrap. A job sees only its directory, the engine and the system; providers need the network. */
import { lstatSync, readlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SandboxedCommand, Launch, MountPaths } from "./launch.ts";

/** Plans contain paths, so these must be the same in plan and apply, on every agent. */
const insideJob = "/job";
const insideEngine = "/engine";
const insideMirror = "/mirror";
const insideCa = "/etc/cadastre/ca.pem";
const insideKnownHosts = "/etc/cadastre/known_hosts";

export interface BubblewrapOptions {
  readonly tmpBytes: number;
  /** passwd and group, which ssh and git need. */
  readonly identities: string;
}

export function insideBubblewrap(mounts: MountPaths): MountPaths {
  return {
    job: insideJob,
    engine: join(insideEngine, mounts.engine.slice(dirname(mounts.engine).length + 1)),
    mirror: mounts.mirror?.startsWith("https://") ? mounts.mirror : mounts.mirror && insideMirror,
    ca: mounts.ca && insideCa,
    knownHosts: mounts.knownHosts && insideKnownHosts,
  };
}

/** Name resolution, certificates, and the targets of Debian's alternatives. */
const etcFiles = [
  "/etc/resolv.conf",
  "/etc/hosts",
  "/etc/nsswitch.conf",
  "/etc/services",
  "/etc/protocols",
  "/etc/localtime",
  "/etc/ssl/certs",
  "/etc/ssl/openssl.cnf",
  "/etc/ca-certificates",
  "/etc/pki/tls/certs",
  "/etc/pki/ca-trust",
  "/etc/crypto-policies",
  "/etc/alternatives",
  "/etc/ld.so.cache",
];

export function bubblewrapArguments(
  command: SandboxedCommand,
  mounts: MountPaths,
  options: BubblewrapOptions,
): string[] {
  const { directory, environment } = command;
  const groups: string[][] = [
    ["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--disable-userns"],
    ["--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL"],
    ["--uid", "1000", "--gid", "1000", "--hostname", "run"],
    // The engine is PID 1, so that it can be interrupted alone; descriptor 4 gets its host PID.
    ["--as-pid-1", "--info-fd", "4"],
    readOnly("/usr", "/usr"),
    ...systemDirectories(),
    ...etcFiles.map((file) => ["--ro-bind-try", file, file]),
    readOnly(join(options.identities, "passwd"), "/etc/passwd"),
    readOnly(join(options.identities, "group"), "/etc/group"),
    readOnly(mounts.ca, insideCa),
    readOnly(mounts.knownHosts, insideKnownHosts),
    ["--proc", "/proc", "--dev", "/dev", "--size", String(options.tmpBytes), "--tmpfs", "/tmp"],
    readOnly(dirname(mounts.engine), insideEngine),
    readOnly(mounts.mirror?.startsWith("https://") ? undefined : mounts.mirror, insideMirror),
    ["--bind", mounts.job, insideJob, "--chdir", directory],
    ...Object.entries(environment).map(([name, value]) => ["--setenv", name, value]),
  ];
  return groups.flat();
}

const readOnly = (source: string | undefined, inside: string): string[] =>
  source === undefined ? [] : ["--ro-bind", source, inside];

/** Symbolic links into /usr on most systems, directories on others. */
function systemDirectories(): string[][] {
  return ["/bin", "/sbin", "/lib", "/lib32", "/lib64"].map((path) => {
    const kind = lstatSync(path, { throwIfNoEntry: false });
    if (kind === undefined) return [];
    return kind.isSymbolicLink() ? ["--symlink", readlinkSync(path), path] : readOnly(path, path);
  });
}

/** Every user of the machine can see arguments, so secret ones are passed through a descriptor. */
export function bubblewrapLaunch(
  bwrap: string,
  command: SandboxedCommand,
  mounts: MountPaths,
  options: BubblewrapOptions,
): Launch {
  return {
    words: [bwrap, "--args", "3", "--", command.program, ...command.words],
    environment: {},
    directory: undefined,
    secretArguments: bubblewrapArguments(command, mounts, options)
      .map((word) => `${word}\0`)
      .join(""),
    reportsProcessId: true,
  };
}
