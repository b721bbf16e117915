/** Fetches submodules and adds their trees to the commit's tree. Nothing is checked out; git refuses paths that leave the tree. */
import { FetchFault } from "./faults.ts";
import { fetchCommitObject } from "./commit.ts";
import { type RemoteCredentials, prepareRemote, submoduleRemote } from "./remotes.ts";
import type { GitSandbox } from "./git-sandbox.ts";

interface SubmoduleParent {
  readonly remote: URL;
  readonly credentials: RemoteCredentials;
  readonly sha: string;
}

const submodulesMax = 50;
const depthMax = 5;

export async function addSubmodules(gitSandbox: GitSandbox, parent: SubmoduleParent): Promise<string> {
  await gitSandbox.git(["read-tree", parent.sha]);
  const count = await addTrees(gitSandbox, parent, { path: "", depth: 0, count: 0 });
  if (count === 0) return parent.sha;
  const tree = (await gitSandbox.git(["write-tree"])).trim();
  const author = ["-c", "user.name=cadastre", "-c", "user.email=cadastre@localhost"];
  return (await gitSandbox.git([...author, "commit-tree", "-m", "with submodules", tree])).trim();
}

interface SubmoduleProgress {
  readonly path: string;
  readonly depth: number;
  readonly count: number;
}

async function addTrees(
  gitSandbox: GitSandbox,
  parent: SubmoduleParent,
  { path, depth, count }: SubmoduleProgress,
): Promise<number> {
  const links = await linksIn(gitSandbox, parent.sha);
  if (links.length === 0) return count;
  if (depth === depthMax) throw finalFault(`submodules are nested more than ${depthMax} deep`);
  const urls = await urlsIn(gitSandbox, parent.sha);
  let total = count;
  for (const link of links) {
    total += 1;
    if (total > submodulesMax) throw finalFault(`there are more than ${submodulesMax} submodules`);
    const url = urls.get(link.path);
    if (url === undefined) throw finalFault(`the submodule ${JSON.stringify(link.path)} has no URL in .gitmodules`);
    const remote = submoduleRemote(url, parent.remote);
    const sha = await fetchCommitObject(gitSandbox, await prepareRemote(gitSandbox, remote, parent.credentials), {
      sha: link.sha,
      ref: undefined,
    });
    const at = `${path}${link.path}`;
    const workTree = `--work-tree=${gitSandbox.emptyFolder}`;
    await gitSandbox.git([workTree, "update-index", "--force-remove", "--", at]);
    await gitSandbox.git([workTree, "read-tree", `--prefix=${at}/`, sha]);
    total = await addTrees(
      gitSandbox,
      { remote, credentials: parent.credentials, sha },
      { path: `${at}/`, depth: depth + 1, count: total },
    );
  }
  return total;
}

const finalFault = (sentence: string) => new FetchFault("submodules", sentence, { isFinal: true });

/** `160000 commit SHA<tab>PATH` */
async function linksIn(gitSandbox: GitSandbox, sha: string): Promise<{ path: string; sha: string }[]> {
  const listed = await gitSandbox.git(["ls-tree", "-r", "-z", sha]);
  return [...listed.matchAll(/(?:^|\0)160000 commit ([0-9a-f]+)\t([^\0]+)/g)].map(([, id = "", path = ""]) => ({
    path,
    sha: id,
  }));
}

/** Without includes, which could read local files. */
async function urlsIn(gitSandbox: GitSandbox, sha: string): Promise<ReadonlyMap<string, string>> {
  const settings = await gitSandbox
    .git(["config", "--no-includes", "--blob", `${sha}:.gitmodules`, "--list", "-z"])
    .catch((error: unknown) => {
      if (error instanceof FetchFault) return "";
      throw error;
    });
  const [paths, urls] = [new Map<string, string>(), new Map<string, string>()];
  for (const [, name = "", key, value = ""] of settings.matchAll(
    /(?:^|\0)submodule\.([^\0\n]*)\.(path|url)\n([^\0]*)/g,
  ))
    (key === "path" ? paths : urls).set(name, value);
  return new Map([...paths].map(([name, path]) => [path, urls.get(name) ?? ""]));
}
