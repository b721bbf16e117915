/** Fetching from a real Git server: submodules, and malicious repositories. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchCommit } from "../../src/resources/vcs/fetching/fetch.ts";
import { readRemote } from "../../src/resources/vcs/fetching/remotes.ts";
import { findGit } from "../../src/resources/vcs/fetching/git-sandbox.ts";
import { addSubmodule, git, type GitServer, startGitServer } from "../support/git.ts";

let server: GitServer;
beforeAll(async () => {
  server = await startGitServer();
});
afterAll(() => server.stop());

const options = { allowed: ["127.0.0.1"], knownHosts: undefined, sandbox: undefined };
const token = "Basic dG9rZW4=";

async function fetched(name: string, { withSubmodules = true, allowed = options.allowed } = {}): Promise<string> {
  const keys = { authorization: { origin: server.url, value: token }, sshKey: undefined };
  const revision = { sha: undefined, ref: undefined, withSubmodules };
  const signal = new AbortController().signal;
  return fetchCommit(
    { ...options, allowed, signal },
    { url: `${server.url}/${name}.git`, credentials: keys },
    revision,
    async (commit) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of commit.archive) pieces.push(piece);
      return gunzipSync(Buffer.concat(pieces)).toString("latin1");
    },
  );
}

describe("submodules", () => {
  it("are added, also relative and nested ones, and left out if not requested", async () => {
    const [inner, middle, outer] = ["a/inner", "a/middle", "a/outer"].map((name) => server.repository(name));
    const innerSha = inner!.push({ "inner.tf": "# in the inner one" });
    addSubmodule(middle!.work, "deep", "../inner.git", innerSha);
    const middleSha = middle!.push({ "middle.tf": "# in the middle one" });
    addSubmodule(outer!.work, "modules/middle", `${server.url}/a/middle.git`, middleSha);
    outer!.push({ "outer.tf": "# in the outer one" });
    const files = await fetched("a/outer");
    for (const name of ["outer.tf", "modules/middle/middle.tf", "modules/middle/deep/inner.tf"])
      expect(files).toContain(name);
    expect(await fetched("a/outer", { withSubmodules: false })).not.toContain("middle.tf");
  });

  it("are only read from the repository: a local file that it includes is not read", async () => {
    const [inner, outer] = ["b/inner", "b/outer"].map((name) => server.repository(name));
    const sha = inner!.push({ "inner.tf": "# in the inner one" });
    addSubmodule(outer!.work, "inner", "../inner.git", sha);
    // Exists in every sandbox, and is not valid git configuration.
    git(outer!.work, "config", "--file", ".gitmodules", "include.path", findGit() ?? "");
    outer!.push({ "outer.tf": "# in the outer one" });
    expect(await fetched("b/outer")).toContain("inner/inner.tf");
  });

  it.each([
    ["a path of this machine", "/etc", "can only be fetched over https and ssh"],
    ["a file address", "file:///etc", "can only be fetched over https and ssh"],
    ["a program", "ext::sh -c touch% /tmp/pwned", "can only be fetched over https and ssh"],
    ["an option", "--upload-pack=touch /tmp/pwned", "can only be fetched over https and ssh"],
    ["an address inside the network", "http://10.0.0.1/x.git", "private address"],
    ["SSH without a key", "git@git.example:x/y.git", "no SSH key"],
  ])("%s is refused", async (title, url, sentence) => {
    const name = `hostile/${title.replaceAll(" ", "-")}`;
    const repository = server.repository(name);
    addSubmodule(repository.work, "sub", url, "a".repeat(40));
    repository.push({ "main.tf": "" });
    await expect(fetched(name)).rejects.toThrow(sentence);
  });
});

describe("a fetch", () => {
  it("sends the token only to the connection's origin, and connects to no private address that is not allowed", async () => {
    server.repository("a/plain").push({ "main.tf": "" });
    server.requests.length = 0;
    await fetched("a/plain");
    expect(new Set(server.requests.map(({ authorization }) => authorization))).toEqual(new Set([token]));
    server.requests.length = 0;
    await expect(fetched("a/plain", { allowed: [] })).rejects.toThrow("CADASTRE_ALLOW_PRIVATE_ADDRESSES");
    expect(server.requests).toEqual([]);
  });

  it("has messages for a missing repository and a refused token", async () => {
    await expect(fetched("a/nothing")).rejects.toThrow("the repository, branch or commit does not exist");
    server.authorization = "Basic another";
    await expect(fetched("a/plain")).rejects.toThrow("refuses the connection's token");
    server.authorization = undefined;
  });
});

describe("addresses", () => {
  it.each([
    "/srv/x",
    "./x",
    "file:///x",
    "ext::sh",
    "https://user:password@host/x",
    "git://host/x",
    "ssh://-oProxyCommand=x/y",
  ])("%s is refused as a remote", (text) => {
    expect(() => readRemote(text)).toThrow();
  });
  it("git@host:path is SSH", () => {
    expect(readRemote("git@github.com:acme/network.git").href).toBe("ssh://git@github.com/acme/network.git");
  });
});
