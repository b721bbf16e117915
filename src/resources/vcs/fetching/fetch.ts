/** Fetches commits as archives without history, compares commits, and finds the default branch. Throws FetchFault. */
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { FetchFault } from "./faults.ts";
import { fetchCommitObject, withoutBlobs, type CommitRef, commitRefOf } from "./commit.ts";
import { fetchMergeBase, type MergeSides } from "./merge-base.ts";
import { type RemoteCredentials, readRemote, prepareRemote } from "./remotes.ts";
import { addSubmodules } from "./submodules.ts";
import { inGitSandbox, type GitSandbox, type GitSandboxOptions } from "./git-sandbox.ts";

export interface GitRepository {
  readonly url: string;
  readonly credentials: RemoteCredentials;
}

export interface FetchedCommit {
  readonly sha: string;
  readonly message: string;
  /** A gzip-compressed tar; only valid until `use` returns. */
  readonly archive: AsyncIterable<Uint8Array>;
}

export async function fetchCommit<T>(
  options: GitSandboxOptions,
  repository: GitRepository,
  commit: CommitRef & { readonly withSubmodules: boolean },
  use: (commit: FetchedCommit) => Promise<T>,
): Promise<T> {
  return inGitSandbox(options, async (gitSandbox) => {
    const remote = await authorizeRemote(gitSandbox, repository);
    const sha = await fetchCommitObject(
      gitSandbox,
      await prepareRemote(gitSandbox, remote, repository.credentials),
      commit,
    );
    const message = await gitSandbox.git(["show", "-s", "--format=%B", "--no-show-signature", sha]);
    const complete = commit.withSubmodules
      ? await addSubmodules(gitSandbox, { remote, credentials: repository.credentials, sha })
      : sha;
    const archive = gzipped(gitSandbox.stream(["archive", "--format=tar", complete]));
    return use({ sha, message: message.trim(), archive });
  });
}

export type CommitRange = { readonly before: string; readonly after: CommitRef } | MergeSides;

/** Includes both names of a renamed file. */
export async function changedFiles(
  options: GitSandboxOptions,
  repository: GitRepository,
  range: CommitRange,
): Promise<readonly string[]> {
  return inGitSandbox(options, async (gitSandbox) => {
    const url = await prepareRemote(gitSandbox, await authorizeRemote(gitSandbox, repository), repository.credentials);
    const [earlier, later] = await resolveRange(gitSandbox, url, range);
    const names = await gitSandbox.git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", earlier, later]);
    return names.split("\0").filter((name) => name !== "");
  });
}

async function resolveRange(
  gitSandbox: GitSandbox,
  url: string,
  range: CommitRange,
): Promise<readonly [string, string]> {
  if ("target" in range) {
    const { base, head } = await fetchMergeBase(gitSandbox, url, range);
    return [base, head];
  }
  const later = await fetchCommitObject(gitSandbox, url, range.after, withoutBlobs);
  return [await fetchCommitObject(gitSandbox, url, commitRefOf(range.before), withoutBlobs), later];
}

export async function defaultBranchOf(options: GitSandboxOptions, repository: GitRepository): Promise<string> {
  return inGitSandbox(options, async (gitSandbox) => {
    const url = await prepareRemote(gitSandbox, await authorizeRemote(gitSandbox, repository), repository.credentials);
    const output = await gitSandbox.git(["ls-remote", "--symref", "--", url, "HEAD"]);
    const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(output) ?? [];
    if (branch === undefined)
      throw new FetchFault("not_found", "the repository is empty and has no default branch", { isFinal: true });
    return branch;
  });
}

async function authorizeRemote(gitSandbox: GitSandbox, repository: GitRepository): Promise<URL> {
  const remote = readRemote(repository.url);
  const { authorization } = repository.credentials;
  if (authorization !== undefined) gitSandbox.authorize(authorization.origin, authorization.value);
  return remote;
}

async function* gzipped(tar: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  const compression = pipeline(tar, gzip).catch((error: unknown) => gzip.destroy(error as Error));
  yield* gzip as AsyncIterable<Uint8Array>;
  await compression;
}
