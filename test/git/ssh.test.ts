/** Fetching over SSH from a real server: the connection's key, host keys, and submodules. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fetchCommit } from "../../src/resources/vcs/fetching/fetch.ts";
import { useApi } from "../support/api.ts";
import { data, makeOrganization, resource } from "../support/builders.ts";
import { addSubmodule, type GitServer, startGitServer } from "../support/git.ts";
import { type SshServer, startSshServer } from "../support/sshd.ts";
import { deliver, eventsOf, makeConnected, makeConnection, processVcsEvents } from "../support/vcs.ts";
import { providers, type TestProvider } from "../support/vcs-payloads.ts";

const bitbucketDataCenter = providers["bitbucket data center"] as TestProvider;
const api = useApi();
let server: GitServer;
let ssh: SshServer;
beforeAll(async () => {
  [server, ssh] = [await startGitServer(), await startSshServer()];
});
afterAll(() => {
  ssh.stop();
  server.stop();
});

const addressOf = (name: string) => `${ssh.url}${server.root}/served/${name}.git`;

interface FetchOptions {
  readonly key?: string | undefined;
  readonly knownHosts?: string | undefined;
  readonly allowed?: readonly string[];
}

/** The names and contents of all fetched files, as one string. */
async function fetched(name: string, { key, knownHosts, allowed = ["127.0.0.1"] }: FetchOptions): Promise<string> {
  const { signal } = new AbortController();
  const keys = { authorization: undefined, sshKey: key };
  return fetchCommit(
    { allowed, knownHosts, sandbox: undefined, signal },
    { url: addressOf(name), credentials: keys },
    { sha: undefined, ref: undefined, withSubmodules: true },
    async (commit) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of commit.archive) pieces.push(piece);
      return gunzipSync(Buffer.concat(pieces)).toString("latin1");
    },
  );
}

describe("a fetch over SSH", () => {
  beforeAll(() => void server.repository("a/plain").push({ "main.tf": "# over SSH" }));

  it("uses the connection's key, from a known host or without a list of hosts", async () => {
    expect(await fetched("a/plain", { key: ssh.key })).toContain("# over SSH");
    expect(await fetched("a/plain", { key: ssh.key, knownHosts: ssh.knownHosts })).toContain("# over SSH");
  });

  it.each([
    ["without a key", () => ({}), "no SSH key"],
    ["with another key", () => ({ key: ssh.otherKey }), "refuses the connection's SSH key"],
    [
      "from a host with another key",
      () => ({ key: ssh.key, knownHosts: ssh.otherHosts }),
      "not among those in CADASTRE_SSH_KNOWN_HOSTS",
    ],
    ["inside the network", () => ({ key: ssh.key, allowed: [] }), "CADASTRE_ALLOW_PRIVATE_ADDRESSES"],
  ])("%s is refused, with a message", async (_, how, sentence) => {
    await expect(fetched("a/plain", how())).rejects.toThrow(sentence);
  });

  it("that finds no repository has a message", async () => {
    await expect(fetched("a/nothing", { key: ssh.key })).rejects.toThrow(
      "the repository, branch or commit does not exist",
    );
  });

  it("fetches submodules with the same key and rules, also relative ones", async () => {
    const inner = server.repository("s/inner").push({ "inner.tf": "# inside" });
    const outer = server.repository("s/outer");
    addSubmodule(outer.work, "near", "../inner.git", inner);
    addSubmodule(outer.work, "far", addressOf("s/inner"), inner);
    outer.push({ "outer.tf": "# outside" });
    const whole = await fetched("s/outer", { key: ssh.key, knownHosts: ssh.knownHosts });
    for (const name of ["outer.tf", "near/inner.tf", "far/inner.tf"]) expect(whole).toContain(name);
    const hostile = server.repository("s/hostile");
    addSubmodule(hostile.work, "inside", "ssh://git@10.0.0.1/x.git", inner);
    hostile.push({ "main.tf": "" });
    await expect(fetched("s/hostile", { key: ssh.key })).rejects.toThrow("private address");
  });
});

describe("a connection with an SSH key", () => {
  /** The provider's response with the SSH URL, as from Bitbucket Data Center. */
  function serveCloneUrl(name: string): void {
    const clone = [{ name: "ssh", href: addressOf(name) }];
    server.api = (_, response) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ links: { clone } }));
  }

  async function pushed(sshKey: string, name: string) {
    serveCloneUrl(name);
    const org = await makeOrganization(api);
    const addresses = { "http-url": server.url, "api-url": server.url };
    const connection = await makeConnection(org, { "service-provider": "bitbucket_data_center", ...addresses });
    const key = resource("oauth-tokens", { "ssh-key": sshKey });
    data(await org.owner.patch(`/oauth-tokens/${connection.tokenId}`, key));
    const workspace = await makeConnected(api, org, connection, {}, { identifier: name, branch: "main" });
    const after = server.repository(name).push({ "main.tf": "# over SSH" });
    const body = bitbucketDataCenter.push({ repository: name, after });
    const headers = bitbucketDataCenter.headers("push", JSON.stringify(body), connection.secret);
    expect((await deliver(api, connection.id, body, headers)).status).toBe(202);
    return { org, workspace };
  }

  /** Also events that wait for a retry. */
  async function processAll(): Promise<void> {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await api.database.write((tx) =>
        tx.db.updateTable("vcsEvents").set({ dueMs: 0 }).where("outcome", "is", null).execute(),
      );
      await processVcsEvents(api, { privateAddresses: ["127.0.0.1"], knownHosts: ssh.knownHosts });
    }
  }

  it("fetches pushes with it", async () => {
    const { org, workspace } = await pushed(ssh.key, "NET/network");
    await processAll();
    const [event] = await eventsOf(org.owner, workspace.id);
    expect(event.attributes).toMatchObject({ outcome: "started", detail: expect.stringContaining("started a run") });
  });

  it("that is refused fails, with the reason", async () => {
    const { org, workspace } = await pushed(ssh.otherKey, "NET/refused");
    await processAll();
    const [event] = await eventsOf(org.owner, workspace.id);
    expect(event.attributes).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("started no run: the provider refuses the connection's SSH key"),
    });
  });
});
