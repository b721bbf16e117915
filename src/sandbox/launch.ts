/** How a program is started, whatever the sandbox: the words before its own, what goes through which descriptor, as which user. */

export const sandboxKinds = ["bubblewrap", "user", "none"] as const;
export type SandboxKind = (typeof sandboxKinds)[number];

export interface Command {
  /** As the program itself will see it. */
  readonly program: string;
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** As the program itself will see it. */
  readonly directory: string;
}

export interface Launch {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** On this machine; undefined where the sandbox goes there itself. */
  readonly directory: string | undefined;
  /** Written to descriptor 3, for arguments that nobody else may see. */
  readonly secretArguments: string | undefined;
  /** Whether descriptor 4 tells the program's own process id, as JSON. */
  readonly tellsProcess: boolean;
}

/** What is where for a job, on this machine and for the program. */
export interface Mounts {
  readonly job: string;
  readonly engine: string;
  readonly mirror: string | undefined;
  readonly ca: string | undefined;
  readonly knownHosts: string | undefined;
}

export interface Sandbox {
  readonly kind: SandboxKind;
  /** One sentence for whoever starts the agent. */
  readonly sentence: string;
  /** As which user programs of a slot are started; undefined for the agent's own. */
  readonly uidOf: (slot: number) => number | undefined;
  /** The mounts as programs see them. */
  readonly inside: (mounts: Mounts) => Mounts;
  readonly launch: (command: Command, mounts: Mounts) => Launch;
}

/** Found once, at the start; the sandbox's own programs are not looked for by a job's PATH. */
export interface Tools {
  readonly bwrap: string | undefined;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
}

export interface FileLimits {
  readonly fileBytes: number;
  readonly openFiles: number;
}

/** Limits that each process has by itself. None on address space: programs in Go reserve far more than they use. */
export function withLimits({ prlimit }: Tools, limits: FileLimits, words: readonly string[]): string[] {
  if (prlimit === undefined) return [...words];
  return [prlimit, `--fsize=${limits.fileBytes}`, `--nofile=${limits.openFiles}`, "--core=0", "--", ...words];
}

/** Dies with the process that started it, also where it can't notice that end. */
export function withDeathOfParent({ setpriv }: Tools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--pdeathsig", "KILL", "--", ...words];
}

/** Dies with the job's process, and gains nothing by programs that are set-uid. */
export function withoutPrivileges({ setpriv }: Tools, words: readonly string[]): string[] {
  return setpriv === undefined ? [...words] : [setpriv, "--no-new-privs", "--pdeathsig", "KILL", "--", ...words];
}
