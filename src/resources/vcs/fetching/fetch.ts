/** Fetches commits as archives, with submodules and without history; compares commits; finds the default branch. */
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { FetchFault } from "./faults.ts";
import { fetchOne, treesAlone, type Wanted, wantedOf } from "./one.ts";
import { fetchParting, type Sides } from "./parting.ts";
import { type Keys, readRemote, reach } from "./remotes.ts";
import { placeSubmodules } from "./submodules.ts";
import { inWorkshop, type Workshop, type WorkshopOptions } from "./workshop.ts";

export interface Repository {
  readonly url: string;
  readonly keys: Keys;
}

export interface FetchedCommit {
  readonly sha: string;
  readonly message: string;
  /** A gzip-compressed tar of its files; only valid until `use` returns. */
  readonly archive: AsyncIterable<Uint8Array>;
}

/** Raises FetchFault. */
export async function fetchCommit<T>(
  options: WorkshopOptions,
  repository: Repository,
  commit: Wanted & { readonly withSubmodules: boolean },
  use: (commit: FetchedCommit) => Promise<T>,
): Promise<T> {
  return inWorkshop(options, async (gitSandbox) => {
    const remote = await authorizeRemote(gitSandbox, repository);
    const sha = await fetchOne(gitSandbox, await reach(gitSandbox, remote, repository.keys), commit);
    const message = await gitSandbox.git(["show", "-s", "--format=%B", "--no-show-signature", sha]);
    const complete = commit.withSubmodules
      ? await placeSubmodules(gitSandbox, { remote, keys: repository.keys, sha })
      : sha;
    const archive = packed(gitSandbox.stream(["archive", "--format=tar", complete]));
    return use({ sha, message: message.trim(), archive });
  });
}

export type Range = { readonly before: string; readonly after: Wanted } | Sides;

/** Includes both names of a renamed file. Raises FetchFault. */
export async function changedFiles(
  options: WorkshopOptions,
  repository: Repository,
  range: Range,
): Promise<readonly string[]> {
  return inWorkshop(options, async (gitSandbox) => {
    const url = await reach(gitSandbox, await authorizeRemote(gitSandbox, repository), repository.keys);
    const [earlier, later] = await endsOf(gitSandbox, url, range);
    const names = await gitSandbox.git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", earlier, later]);
    return names.split("\0").filter((name) => name !== "");
  });
}

async function endsOf(gitSandbox: Workshop, url: string, range: Range): Promise<readonly [string, string]> {
  if ("target" in range) {
    const { base, head } = await fetchParting(gitSandbox, url, range);
    return [base, head];
  }
  const later = await fetchOne(gitSandbox, url, range.after, treesAlone);
  return [await fetchOne(gitSandbox, url, wantedOf(range.before), treesAlone), later];
}

/** Raises FetchFault. */
export async function defaultBranchOf(options: WorkshopOptions, repository: Repository): Promise<string> {
  return inWorkshop(options, async (gitSandbox) => {
    const url = await reach(gitSandbox, await authorizeRemote(gitSandbox, repository), repository.keys);
    const said = await gitSandbox.git(["ls-remote", "--symref", "--", url, "HEAD"]);
    const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(said) ?? [];
    if (branch === undefined)
      throw new FetchFault("not_found", "the repository is empty and has no default branch", { isFinal: true });
    return branch;
  });
}

async function authorizeRemote(gitSandbox: Workshop, repository: Repository): Promise<URL> {
  const remote = readRemote(repository.url);
  const { authorization } = repository.keys;
  if (authorization !== undefined) gitSandbox.authorize(authorization.origin, authorization.value);
  return remote;
}

/** Compresses lazily, as the consumer reads. */
async function* packed(tar: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  const fed = pipeline(tar, gzip).catch((error: unknown) => gzip.destroy(error as Error));
  yield* gzip as AsyncIterable<Uint8Array>;
  await fed;
}
