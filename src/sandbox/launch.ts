/** The types that describe how a sandbox starts a program, and the wrappers that limit it. */

export const sandboxKinds = ["bubblewrap", "user", "none"] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

export interface SandboxedCommand {
  /** As seen inside the sandbox. */
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** As seen inside the sandbox. */
  readonly directory: string;
}

export interface Launch {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** On this machine; undefined if the sandbox changes to it. */
  readonly directory: string | undefined;
  /** Arguments that other users must not see; written to descriptor 3. */
  readonly secretArguments: string | undefined;
  /** Whether the sandbox writes the program's process id to descriptor 4, as JSON. */
  readonly reportsProcessId: boolean;
}

/** The paths of a job, on this machine or as seen inside the sandbox. */
export interface Mounts {
  readonly job: string;
  readonly engine: string;
  readonly mirror: string | undefined;
  readonly ca: string | undefined;
  readonly knownHosts: string | undefined;
}

export interface Sandbox {
  readonly kind: SandboxKind;
  /** A sentence for the agent's output. */
  readonly description: string;
  /** The user id of a slot; undefined for the agent's own. */
  readonly uidOf: (slot: number) => number | undefined;
  /** The mounts as seen inside the sandbox. */
  readonly inside: (mounts: Mounts) => Mounts;
  readonly launch: (command: SandboxedCommand, mounts: Mounts) => Launch;
}

/** Absolute paths: these programs must not be looked up in a job's PATH. */
export interface SandboxTools {
  readonly bwrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
}

export interface FileLimits {
  readonly fileBytes: number;
  readonly openFiles: number;
}

/** Limits per process. Address space is not limited, because Go programs reserve far more than they use. */
export function withLimits({ prlimit }: SandboxTools, limits: FileLimits, words: readonly string[]): string[] {
  if (prlimit === undefined) return [...words];
  return [prlimit, `--fsize=${limits.fileBytes}`, `--nofile=${limits.openFiles}`, "--core=0", "--", ...words];
}

/** Kills the program when its parent dies. */
export function withDeathOfParent({ setpriv }: SandboxTools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--pdeathsig", "KILL", "--", ...words];
}

/** Kills the program when its parent dies, and disables set-uid. */
export function withoutPrivileges({ setpriv }: SandboxTools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--no-new-privs", "--pdeathsig", "KILL", "--", ...words];
}
