/**
 * Submodules: each fetched like its repository, under the same rules, and put into the tree in the place that names it. Nothing is
 * checked out: git's index is all that is needed. Git itself refuses names that lead out of it.
 */
import { FetchFault } from "./faults.ts";
import { fetchOne } from "./one.ts";
import { type Keys, reach, submoduleRemote } from "./remotes.ts";
import type { Workshop } from "./workshop.ts";

interface Place {
  readonly remote: URL;
  readonly keys: Keys;
  readonly sha: string;
}

const submodulesMax = 50;
const depthMax = 5;

/** Gives a commit with everything in it; the same where there are none. */
export async function placeSubmodules(workshop: Workshop, place: Place): Promise<string> {
  await workshop.git(["read-tree", place.sha]);
  const count = await fill(workshop, place, { path: "", depth: 0, count: 0 });
  if (count === 0) return place.sha;
  const tree = (await workshop.git(["write-tree"])).trim();
  const names = ["-c", "user.name=cadastre", "-c", "user.email=cadastre@localhost"];
  return (await workshop.git([...names, "commit-tree", "-m", "with submodules", tree])).trim();
}

interface Depth {
  readonly path: string;
  readonly depth: number;
  readonly count: number;
}

async function fill(workshop: Workshop, { remote, keys, sha }: Place, { path, depth, count }: Depth): Promise<number> {
  const links = await linksIn(workshop, sha);
  if (links.length === 0) return count;
  if (depth === depthMax) throw final(`submodules are nested more than ${depthMax} deep`);
  const urls = await urlsIn(workshop, sha);
  let total = count;
  for (const link of links) {
    total += 1;
    if (total > submodulesMax) throw final(`there are more than ${submodulesMax} submodules`);
    const url = urls.get(link.path);
    if (url === undefined) throw final(`the submodule ${JSON.stringify(link.path)} has no address in .gitmodules`);
    const own = submoduleRemote(url, remote);
    const inside = await fetchOne(workshop, await reach(workshop, own, keys), { sha: link.sha, ref: undefined });
    const at = `${path}${link.path}`;
    const beside = `--work-tree=${workshop.emptyFolder}`;
    await workshop.git([beside, "update-index", "--force-remove", "--", at]);
    await workshop.git([beside, "read-tree", `--prefix=${at}/`, inside]);
    total = await fill(
      workshop,
      { remote: own, keys, sha: inside },
      { path: `${at}/`, depth: depth + 1, count: total },
    );
  }
  return total;
}

const final = (sentence: string) => new FetchFault("submodules", sentence, { isFinal: true });

/** `160000 commit SHA<tab>PATH` */
async function linksIn(workshop: Workshop, sha: string): Promise<{ path: string; sha: string }[]> {
  const listed = await workshop.git(["ls-tree", "-r", "-z", sha]);
  return [...listed.matchAll(/(?:^|\0)160000 commit ([0-9a-f]+)\t([^\0]+)/g)].map(([, id = "", path = ""]) => ({
    path,
    sha: id,
  }));
}

/** What `.gitmodules` says, by the path of each; not what files of this machine say that it names. */
async function urlsIn(workshop: Workshop, sha: string): Promise<ReadonlyMap<string, string>> {
  const told = await workshop
    .git(["config", "--no-includes", "--blob", `${sha}:.gitmodules`, "--list", "-z"])
    .catch((error: unknown) => {
      if (error instanceof FetchFault) return "";
      throw error;
    });
  const [paths, urls] = [new Map<string, string>(), new Map<string, string>()];
  for (const [, name = "", key, value = ""] of told.matchAll(/(?:^|\0)submodule\.([^\0\n]*)\.(path|url)\n([^\0]*)/g))
    (key === "path" ? paths : urls).set(name, value);
  return new Map([...paths].map(([name, path]) => [path, urls.get(name) ?? ""]));
}
