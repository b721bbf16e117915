/** One commit, without its history, into the workshop's repository. Raises FetchFault. */
import { FetchFault } from "./faults.ts";
import type { Workshop } from "./workshop.ts";

/** Which commit: by its id, by the name of what it is at the tip of, or both; the default branch by neither. */
export interface Wanted {
  readonly sha: string | undefined;
  /** `refs/heads/main` */
  readonly ref: string | undefined;
}

export const isWhole = (sha: string | undefined) => sha !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha);
/** A branch's name that can be asked for: nothing that git would take for something else. */
export const isRef = (ref: string) => /^refs\/[^\s:+~^?*[\\\p{Cc}]+$/u.test(ref) && !ref.includes("..");

export const treesAlone = ["--filter=blob:none"];
/** Where a server gives nothing by its id alone, the commit is looked for this far below the tip. */
const depthBelowTip = 50;

/** A commit's id, or the name of a branch. */
export const wantedOf = (text: string): Wanted =>
  isWhole(text) ? { sha: text, ref: undefined } : { sha: undefined, ref: `refs/heads/${text}` };

/** Gives its whole id. */
export async function fetchOne(
  workshop: Workshop,
  url: string,
  { sha, ref }: Wanted,
  more: readonly string[] = [],
): Promise<string> {
  const fetch = (depth: number, what: string) => {
    const words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", `--depth=${depth}`, "--force", ...more];
    return [...words, "origin", `${what}:refs/cadastre/fetched`];
  };
  await workshop.git(["config", "remote.origin.url", url]);
  if (sha !== undefined && isWhole(sha) && (await workshop.tryGit(fetch(1, sha)))) return sha;
  const name = ref ?? "HEAD";
  if (name !== "HEAD" && !isRef(name))
    throw new FetchFault("not_found", "the name of the branch can't be used", { isFinal: true });
  if (sha !== undefined && ref === undefined) {
    // Said once more, for the reason.
    await workshop.git(fetch(1, sha));
    return sha;
  }
  await workshop.git(fetch(sha === undefined ? 1 : depthBelowTip, name));
  const found = await workshop.git(["rev-parse", "--verify", "--quiet", `${sha ?? "refs/cadastre/fetched"}^{commit}`]);
  return found.trim();
}
