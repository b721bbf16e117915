/** Finds the merge base of a pull request and its target. Fetches history without files. Throws FetchFault. */
import { FetchFault } from "./faults.ts";
import { isRef, isFullSha, withoutBlobs, type CommitRef } from "./commit.ts";
import type { GitSandbox } from "./git-sandbox.ts";

const depths = [50, 1000];
const refNames = ["refs/cadastre/head", "refs/cadastre/target"] as const;

export interface MergeSides {
  readonly head: CommitRef;
  readonly target: CommitRef;
}

export interface MergeBase {
  readonly base: string;
  readonly head: string;
}

export async function fetchMergeBase(gitSandbox: GitSandbox, url: string, sides: MergeSides): Promise<MergeBase> {
  await gitSandbox.git(["config", "remote.origin.url", url]);
  for (const depth of depths) {
    const isById = await fetchBoth(gitSandbox, sides, depth);
    const head = await idOf(gitSandbox, sides.head.sha ?? refNames[0]);
    // The tip of the target branch has the same merge base: its newer commits are on one side only.
    const target = await idOf(gitSandbox, (isById ? sides.target.sha : undefined) ?? refNames[1]);
    const base = await gitSandbox.git(["merge-base", head, target]).catch((error: unknown) => {
      // git fails without a message if there is no merge base.
      if (error instanceof FetchFault) return "";
      throw error;
    });
    if (base !== "") return { base: base.trim(), head };
  }
  throw new FetchFault(
    "parted",
    `the merge base of the pull request and its target is more than ${depths.at(-1)} commits old`,
  );
}

async function fetchBoth(gitSandbox: GitSandbox, { head, target }: MergeSides, depth: number): Promise<boolean> {
  const fetch = (what: readonly string[]) => {
    const args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", `--depth=${depth}`, "--force"];
    return [...args, ...withoutBlobs, "origin", ...what.map((each, at) => `${each}:${refNames[at]}`)];
  };
  const idOrName = ({ sha, ref }: CommitRef) => (isFullSha(sha) ? sha : ref) ?? "";
  const nameOf = ({ ref, sha }: CommitRef) => ref ?? sha ?? "";
  const attempts = [
    [idOrName(head), idOrName(target)],
    [idOrName(head), nameOf(target)],
    [nameOf(head), nameOf(target)],
  ];
  const usable = attempts.filter((refs) => refs.every((each) => isFullSha(each) || isRef(each)));
  for (const refs of usable) if (await gitSandbox.tryGit(fetch(refs))) return refs[1] === target.sha;
  throw new FetchFault("not_found", "the commit of the pull request, or its target, does not exist any more");
}

const idOf = async (gitSandbox: GitSandbox, name: string): Promise<string> =>
  (await gitSandbox.git(["rev-parse", "--verify", "--quiet", `${name}^{commit}`])).trim();
