/**
 * Where two commits parted: a pull request changes what is in it since then, and nothing of what its target has got meanwhile. History
 * is fetched without files, and ever further below the tips. Raises FetchFault.
 */
import { FetchFault } from "./faults.ts";
import { isRef, isWhole, treesAlone, type Wanted } from "./one.ts";
import type { Workshop } from "./workshop.ts";

/** Most requests are younger than the first; one that parted before the last is not compared. */
const depths = [50, 1000];
const names = ["refs/cadastre/head", "refs/cadastre/target"] as const;

export interface Sides {
  readonly head: Wanted;
  readonly target: Wanted;
}

export interface Parting {
  readonly base: string;
  readonly head: string;
}

export async function fetchParting(workshop: Workshop, url: string, sides: Sides): Promise<Parting> {
  await workshop.git(["config", "remote.origin.url", url]);
  for (const depth of depths) {
    const isById = await fetchBoth(workshop, sides, depth);
    const head = await idOf(workshop, sides.head.sha ?? names[0]);
    // Its tip is as good: what it has got meanwhile is on one side alone.
    const target = await idOf(workshop, (isById ? sides.target.sha : undefined) ?? names[1]);
    const base = await workshop.git(["merge-base", head, target]).catch((error: unknown) => {
      // It says nothing where it finds none.
      if (error instanceof FetchFault) return "";
      throw error;
    });
    if (base !== "") return { base: base.trim(), head };
  }
  throw new FetchFault("parted", `the request and its target have parted more than ${depths.at(-1)} commits ago`);
}

/** By their ids; by the names of their branches where a server does not give one by its id. Gives whether the target was had by its own. */
async function fetchBoth(workshop: Workshop, { head, target }: Sides, depth: number): Promise<boolean> {
  const fetch = (what: readonly string[]) => {
    const words = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", `--depth=${depth}`, "--force"];
    return [...words, ...treesAlone, "origin", ...what.map((each, at) => `${each}:${names[at]}`)];
  };
  const idOrName = ({ sha, ref }: Wanted) => (isWhole(sha) ? sha : ref) ?? "";
  const nameOf = ({ ref, sha }: Wanted) => ref ?? sha ?? "";
  const ways = [
    [idOrName(head), idOrName(target)],
    [idOrName(head), nameOf(target)],
    [nameOf(head), nameOf(target)],
  ];
  const usable = ways.filter((way) => way.every((each) => isWhole(each) || isRef(each)));
  for (const way of usable) if (await workshop.tryGit(fetch(way))) return way[1] === target.sha;
  throw new FetchFault("not_found", "the request's commit, or its target, is not there any more");
}

const idOf = async (workshop: Workshop, name: string): Promise<string> =>
  (await workshop.git(["rev-parse", "--verify", "--quiet", `${name}^{commit}`])).trim();
