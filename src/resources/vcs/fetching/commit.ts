/** Fetches one commit without its history into the sandbox's repository. Throws FetchFault. */
import { FetchFault } from "./faults.ts";
import type { GitSandbox } from "./git-sandbox.ts";

/** With neither, the tip of the default branch. */
export interface CommitRef {
  readonly sha: string | undefined;
  /** `refs/heads/main` */
  readonly ref: string | undefined;
}

export const isFullSha = (sha: string | undefined) => sha !== undefined && /^([0-9a-f]{40}|[0-9a-f]{64})$/.test(sha);
/** git must not interpret a ref as anything else, such as an option or a refspec. */
export const isRef = (ref: string) => /^refs\/[^\s:+~^?*[\\\p{Cc}]+$/u.test(ref) && !ref.includes("..");

export const withoutBlobs = ["--filter=blob:none"];
/** For servers that do not serve commits by SHA. */
const depthBelowTip = 50;

export const commitRefOf = (text: string): CommitRef =>
  isFullSha(text) ? { sha: text, ref: undefined } : { sha: undefined, ref: `refs/heads/${text}` };

export async function fetchCommitObject(
  gitSandbox: GitSandbox,
  url: string,
  { sha, ref }: CommitRef,
  more: readonly string[] = [],
): Promise<string> {
  const fetch = (depth: number, what: string) => {
    const args = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", `--depth=${depth}`, "--force", ...more];
    return [...args, "origin", `${what}:refs/cadastre/fetched`];
  };
  await gitSandbox.git(["config", "remote.origin.url", url]);
  if (sha !== undefined && isFullSha(sha) && (await gitSandbox.tryGit(fetch(1, sha)))) return sha;
  const name = ref ?? "HEAD";
  if (name !== "HEAD" && !isRef(name))
    throw new FetchFault("not_found", "the branch has an invalid name", { isFinal: true });
  if (sha !== undefined && ref === undefined) {
    // Repeated for its error message.
    await gitSandbox.git(fetch(1, sha));
    return sha;
  }
  await gitSandbox.git(fetch(sha === undefined ? 1 : depthBelowTip, name));
  const found = await gitSandbox.git([
    "rev-parse",
    "--verify",
    "--quiet",
    `${sha ?? "refs/cadastre/fetched"}^{commit}`,
  ]);
  return found.trim();
}
