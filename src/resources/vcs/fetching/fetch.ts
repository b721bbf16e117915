/** Commits, as configurations are made of them: one commit deep, its submodules in their places, as a tar archive. */
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
  /** Its files, as a gzip tar; only good until `use` ends. */
  readonly archive: AsyncIterable<Uint8Array>;
}

/** Raises FetchFault. */
export async function fetchCommit<T>(
  options: WorkshopOptions,
  repository: Repository,
  wanted: Wanted & { readonly withSubmodules: boolean },
  use: (commit: FetchedCommit) => Promise<T>,
): Promise<T> {
  return inWorkshop(options, async (workshop) => {
    const remote = await admit(workshop, repository);
    const sha = await fetchOne(workshop, await reach(workshop, remote, repository.keys), wanted);
    const message = await workshop.git(["show", "-s", "--format=%B", "--no-show-signature", sha]);
    const whole = wanted.withSubmodules ? await placeSubmodules(workshop, { remote, keys: repository.keys, sha }) : sha;
    const archive = packed(workshop.stream(["archive", "--format=tar", whole]));
    return use({ sha, message: message.trim(), archive });
  });
}

/** What is compared: two commits, or a branch and one; or what a request changes since it parted from its target. */
export type Range = { readonly before: string; readonly after: Wanted } | Sides;

/** The files that differ; both names of one that was moved. Raises FetchFault. */
export async function changedFiles(
  options: WorkshopOptions,
  repository: Repository,
  range: Range,
): Promise<readonly string[]> {
  return inWorkshop(options, async (workshop) => {
    const url = await reach(workshop, await admit(workshop, repository), repository.keys);
    const [earlier, later] = await endsOf(workshop, url, range);
    const names = await workshop.git(["diff-tree", "-r", "-z", "--name-only", "--no-renames", earlier, later]);
    return names.split("\0").filter((name) => name !== "");
  });
}

async function endsOf(workshop: Workshop, url: string, range: Range): Promise<readonly [string, string]> {
  if ("target" in range) {
    const { base, head } = await fetchParting(workshop, url, range);
    return [base, head];
  }
  const later = await fetchOne(workshop, url, range.after, treesAlone);
  return [await fetchOne(workshop, url, wantedOf(range.before), treesAlone), later];
}

/** The name of the branch that a repository begins with. Raises FetchFault. */
export async function defaultBranchOf(options: WorkshopOptions, repository: Repository): Promise<string> {
  return inWorkshop(options, async (workshop) => {
    const url = await reach(workshop, await admit(workshop, repository), repository.keys);
    const said = await workshop.git(["ls-remote", "--symref", "--", url, "HEAD"]);
    const [, branch] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(said) ?? [];
    if (branch === undefined)
      throw new FetchFault("not_found", "the repository has no default branch: it is empty", { isFinal: true });
    return branch;
  });
}

async function admit(workshop: Workshop, { url, keys }: Repository): Promise<URL> {
  const remote = readRemote(url);
  if (keys.authorization !== undefined) workshop.authorize(keys.authorization.origin, keys.authorization.value);
  return remote;
}

/** Compressed as it comes, once somebody takes it. */
async function* packed(tar: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const gzip = createGzip({ level: 1 });
  const fed = pipeline(tar, gzip).catch((error: unknown) => gzip.destroy(error as Error));
  yield* gzip as AsyncIterable<Uint8Array>;
  await fed;
}
