/** The types that describe how a sandbox starts a program, and the wrappers that limit it. */

export const sandboxKinds = ["bubblewrap", "user", "none"] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

export interface SandboxedCommand {
  /** Inside the sandbox. */
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Inside the sandbox. */
  readonly directory: string;
}

export interface Launch {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** On this machine; undefined if the sandbox sets the directory. */
  readonly directory: string | undefined;
  /** Written to descriptor 3, because other users must not see them. */
  readonly secretArguments: string | undefined;
  /** As JSON on descriptor 4. */
  readonly reportsProcessId: boolean;
}

/** Paths of what a job can read; `inside` returns them as the sandbox shows them. */
export interface MountPaths {
  readonly job: string;
  readonly engine: string;
  readonly mirror: string | undefined;
  readonly ca: string | undefined;
  readonly knownHosts: string | undefined;
}

export interface Sandbox {
  readonly kind: SandboxKind;
  readonly description: string;
  /** Undefined for the agent's own user. */
  readonly uidOf: (slot: number) => number | undefined;
  readonly inside: (mounts: MountPaths) => MountPaths;
  readonly launch: (command: SandboxedCommand, mounts: MountPaths) => Launch;
}

/** Absolute paths: a job's PATH must not choose these programs. */
export interface SandboxTools {
  readonly bwrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
}

export interface FileLimits {
  readonly fileBytes: number;
  readonly openFiles: number;
}

/** Address space is not limited, because Go programs reserve far more than they use. */
export function withLimits({ prlimit }: SandboxTools, limits: FileLimits, words: readonly string[]): string[] {
  if (prlimit === undefined) return [...words];
  return [prlimit, `--fsize=${limits.fileBytes}`, `--nofile=${limits.openFiles}`, "--core=0", "--", ...words];
}

export function killedWithParent({ setpriv }: SandboxTools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--pdeathsig", "KILL", "--", ...words];
}

export function withoutPrivileges({ setpriv }: SandboxTools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--no-new-privs", "--pdeathsig", "KILL", "--", ...words];
}
