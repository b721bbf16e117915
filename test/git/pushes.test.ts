/** From a push to a run, with a real Git server: fetch, configuration version, run. */
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../support/api.ts";
import { data, makeOrganization, type Org, resource } from "../support/builders.ts";
import { fetchBytes } from "../support/configurations.ts";
import { addSubmodule, type GitServer, startGitServer } from "../support/git.ts";
import {
  deliver,
  eventsOf,
  latestDetail,
  makeConnected,
  makeConnection,
  pushTo,
  type TestConnection,
  processVcsEvents,
} from "../support/vcs.ts";
import { github } from "../support/vcs-payloads.ts";

const api = useApi();
let server: GitServer;
beforeAll(async () => {
  server = await startGitServer();
});
afterAll(() => server.stop());

const options = { privateAddresses: ["127.0.0.1"] };
const work = () => processVcsEvents(api, options);
let counter = 0;
const nameOf = () => `acme/repository-${(counter += 1)}`;

async function prepare(attributes: object = {}, more: object = {}) {
  const org = await makeOrganization(api);
  const connection = await makeConnection(org, { "http-url": server.url, "api-url": server.url });
  const name = nameOf();
  const repository = server.repository(name);
  const workspace = await makeConnected(api, org, connection, attributes, { identifier: name, ...more });
  return { org, connection, name, repository, workspace };
}

const runsOf = async (org: Org, workspace: Json): Promise<Json[]> =>
  data(await org.owner.get(`/workspaces/${workspace.id}/runs`));

/** The run that the latest event started; lists do not contain plan-only runs. */
async function runOf(org: Org, workspace: Json): Promise<Json> {
  const [event] = await eventsOf(org.owner, workspace.id);
  return data(await org.owner.get(`/runs/${event.relationships.run.data.id}`));
}

async function request(
  connection: TestConnection,
  name: string,
  { targetSha, ...change }: { sha: string; targetSha?: string; isNew?: boolean },
): Promise<number> {
  const body = github.pullRequest(change);
  if (targetSha !== undefined) body.pull_request.base.sha = targetSha;
  body.repository.full_name = name;
  body.pull_request.head.repo.full_name = name;
  const headers = github.headers("pull-request", JSON.stringify(body), connection.secret);
  return (await deliver(api, connection.id, body, headers)).status;
}

/** The names of the files in a run's configuration. */
async function filesOf(org: Org, run: Json): Promise<string[]> {
  const { bytes } = await fetchBytes(api, org.owner, `/runs/${run.id}/configuration-version/download`);
  const tar = gunzipSync(bytes);
  const names: string[] = [];
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const size = Number.parseInt(tar.toString("latin1", at + 124, at + 135), 8);
    if (tar.toString("latin1", at + 156, at + 157) === "0")
      names.push(tar.toString("latin1", at, at + 100).replace(/\0.*$/, ""));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return names.toSorted();
}

describe("a push", () => {
  it("starts a run with the commit that was pushed, and its ingress attributes", async () => {
    server.authorization = `Basic ${Buffer.from("x-access-token:a token of the provider").toString("base64")}`;
    const { org, connection, name, repository, workspace } = await prepare();
    const after = repository.push(
      {
        "main.tf": 'resource "null_resource" "one" {}\n',
        "README.md": "# Hello",
        ".gitattributes": "main.tf export-ignore",
      },
      { message: "Add one" },
    );
    expect(await pushTo(api, connection, { repository: name, after })).toBe(202);
    await work();
    server.authorization = undefined;
    const [event] = await eventsOf(org.owner, workspace.id);
    const [run] = await runsOf(org, workspace);
    expect(event.attributes).toMatchObject({
      outcome: "started",
      detail: `push ${after.slice(0, 7)} started a run, ${run.id}`,
    });
    expect(event.relationships.run.data.id).toBe(run.id);
    expect(run.attributes).toMatchObject({ message: "Add one", "trigger-reason": "vcs", "plan-only": false });
    const path = `/configuration-versions/${run.relationships["configuration-version"].data.id}`;
    expect(data(await org.owner.get(path)).attributes).toMatchObject({ source: "github", status: "uploaded" });
    expect(data(await org.owner.get(`${path}/ingress-attributes`)).attributes).toMatchObject({
      branch: "main",
      "commit-sha": after,
      "commit-message": "Add one",
      "clone-url": `${server.url}/${name}.git`,
      "on-default-branch": true,
      "sender-username": "ada",
    });
    // Also files that .gitattributes would leave out.
    expect(await filesOf(org, run)).toEqual([".gitattributes", "README.md", "main.tf"]);
    expect(data(await org.owner.get(`/organizations/${org.name}/runs?search[commit]=${after}`))).toHaveLength(1);
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}?include=readme`));
    expect(shown.relationships["current-configuration-version"].data.id).toBe(
      run.relationships["configuration-version"].data.id,
    );
  });

  it("starts a run only if a changed file matches", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "trigger-patterns": ["modules/**"] });
    const first = repository.push({ "README.md": "1" });
    await pushTo(api, connection, { repository: name, after: first, files: ["README.md"] });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toBe(
      `push ${first.slice(0, 7)} started no run: no changed file matches trigger-patterns`,
    );
    const second = repository.push({ "modules/a.tf": "" });
    await pushTo(api, connection, { repository: name, after: second, before: first, files: ["modules/a.tf"] });
    await work();
    expect(await runsOf(org, workspace)).toHaveLength(1);
  });

  it("compares commits if the provider sends no file list", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "trigger-prefixes": ["modules"] });
    const [first, second] = [repository.push({ "a.md": "1" }), repository.push({ "b.md": "1" })];
    const third = repository.push({ "modules/c.tf": "" });
    const pushed = async (before: string, after: string) => {
      const body = github.push({ repository: name, before, after });
      body.commits = Array.from({ length: 2048 }, () => body.commits[0]);
      const headers = github.headers("push", JSON.stringify(body), connection.secret);
      expect((await deliver(api, connection.id, body, headers)).status).toBe(202);
      await work();
      return latestDetail(org.owner, workspace.id);
    };
    expect(await pushed(first, second)).toContain("no changed file matches trigger-prefixes");
    expect(await pushed(second, third)).toContain("started a run");
    // A comparison with a missing commit counts as a match.
    const fourth = repository.push({ "d.md": "1" });
    expect(await pushed("f".repeat(40), fourth)).toContain("started a run");
  });

  it("does not start two runs, whatever the delivery id", async () => {
    const { org, connection, name, repository, workspace } = await prepare();
    const after = repository.push({ "main.tf": "" });
    for (const _ of [1, 2]) {
      expect(await pushTo(api, connection, { repository: name, after })).toBe(202);
      await work();
    }
    const [run, ...others] = await runsOf(org, workspace);
    expect(others).toEqual([]);
    expect(await latestDetail(org.owner, workspace.id)).toBe(
      `push ${after.slice(0, 7)} started no run: this commit already has the run ${run.id}`,
    );
  });

  it("starts no run if queue-all-runs is false, but fetches the configuration", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "queue-all-runs": false });
    const first = repository.push({ "main.tf": "# 1" });
    await pushTo(api, connection, { repository: name, after: first });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain(
      "queue-all-runs is false and nobody has queued a run yet. Its configuration was fetched",
    );
    const body = resource("runs", {}, { workspace: { data: { type: "workspaces", id: workspace.id } } });
    expect((await org.owner.post("/runs", body)).status).toBe(201);
    const second = repository.push({ "main.tf": "# 2" });
    await pushTo(api, connection, { repository: name, after: second, before: first });
    await work();
    expect(await runsOf(org, workspace)).toHaveLength(2);
  });

  it("of a tag starts a run if tags-regex matches", async () => {
    const { org, connection, name, repository, workspace } = await prepare({}, { "tags-regex": "^v\\d" });
    const after = repository.push({ "main.tf": "" });
    const body = github.tag("v1.0.0", after);
    body.repository = { ...body.repository, full_name: name };
    await deliver(api, connection.id, body, github.headers("tag", JSON.stringify(body), connection.secret));
    await work();
    const [run] = await runsOf(org, workspace);
    const path = `/configuration-versions/${run.relationships["configuration-version"].data.id}/ingress-attributes`;
    expect(data(await org.owner.get(path)).attributes).toMatchObject({ tag: "v1.0.0", "commit-sha": after });
  });
});

describe("a pull request", () => {
  it("gets a speculative plan, and a newer commit cancels it", async () => {
    const { org, connection, name, repository, workspace } = await prepare();
    repository.push({ "main.tf": "" });
    const first = repository.push({ "main.tf": "# 1" }, { branch: "feature" });
    expect(await request(connection, name, { sha: first, isNew: true })).toBe(202);
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("started a speculative plan");
    const plan = await runOf(org, workspace);
    expect(plan.attributes).toMatchObject({ "plan-only": true, message: "A change" });
    data(
      await org.owner.patch(
        `/organizations/${org.name}`,
        resource("organizations", { "speculative-plan-management-enabled": true }),
      ),
    );
    const second = repository.push({ "main.tf": "# 2" }, { branch: "feature" });
    await request(connection, name, { sha: second });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("1 of an earlier commit was canceled");
    expect(data(await org.owner.get(`/runs/${plan.id}`)).attributes.status).toBe("canceled");
    const shown = data(await org.owner.get(`/workspaces/${workspace.id}`));
    expect(shown.relationships["current-configuration-version"]?.data ?? null).toBeNull();
  });

  it("is filtered by its files", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "trigger-patterns": ["modules/**"] });
    const targetSha = repository.push({ "main.tf": "" });
    const sha = repository.push({ "docs/a.md": "1" }, { branch: "feature" });
    await request(connection, name, { sha, targetSha });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toBe(
      `pull request 7 (${sha.slice(0, 7)}) started no run: no changed file matches trigger-patterns`,
    );
  });

  it("is compared with its merge base, not with its target's newer commits", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "trigger-patterns": ["modules/**"] });
    const mergeBase = repository.push({ "modules/a.tf": "# 1" });
    const target = repository.push({ "modules/a.tf": "# 2" });
    repository.goTo(mergeBase);
    const sha = repository.push({ "docs/a.md": "1" }, { branch: "feature" });
    await request(connection, name, { sha, targetSha: target });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("no changed file matches trigger-patterns");
    // Also if the target branch was rewritten, so that its commit does not exist any more.
    const other = repository.push({ "docs/b.md": "1" }, { branch: "feature" });
    await request(connection, name, { sha: other, targetSha: "e".repeat(40) });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("no changed file matches trigger-patterns");
    repository.goTo(other);
    const third = repository.push({ "modules/b.tf": "" }, { branch: "feature" });
    await request(connection, name, { sha: third, targetSha: target });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("started a speculative plan");
  });
});

describe("connecting a workspace", () => {
  it("fetches the tip of its branch, and starts a run if queue-all-runs is set", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org, { "http-url": server.url, "api-url": server.url });
    const name = nameOf();
    const repository = server.repository(name);
    repository.push({ "main.tf": "" });
    repository.push({ "main.tf": "# dev" }, { branch: "dev", message: "On dev" });
    const made = async (queueAllRuns: boolean, branch?: string) => {
      const vcsRepo = { identifier: name, "oauth-token-id": connection.tokenId, ...(branch && { branch }) };
      const attributes = {
        name: `w-${(counter += 1)}`,
        "execution-mode": "remote",
        "queue-all-runs": queueAllRuns,
        "vcs-repo": vcsRepo,
      };
      return data(await org.owner.post(`/organizations/${org.name}/workspaces`, resource("workspaces", attributes)));
    };
    const [runs, waits] = [await made(true, "dev"), await made(false)];
    await work();
    expect(await latestDetail(org.owner, runs.id)).toContain("started a run");
    expect((await runsOf(org, runs)).map((run) => run.attributes.message)).toEqual(["On dev"]);
    expect(await runsOf(org, waits)).toEqual([]);
    expect(await latestDetail(org.owner, waits.id)).toBe(
      `connecting ${name} started no run: queue-all-runs is false. Its configuration was fetched, and can be used for a run that a user starts`,
    );
    const shown = data(await org.owner.get(`/workspaces/${waits.id}`));
    expect(shown.relationships["current-configuration-version"].data).not.toBeNull();
  });
});

describe("a fetch that fails", () => {
  /** The server is temporarily unreachable: an error that is not final. */
  async function whileDown<T>(repository: { readonly bare: string }, work: () => Promise<T>): Promise<T> {
    server.unavailable = repository.bare;
    try {
      return await work();
    } finally {
      server.unavailable = undefined;
    }
  }

  const makeDue = () =>
    api.database.write((tx) => tx.db.updateTable("vcsEvents").set({ dueMs: 0 }).where("outcome", "is", null).execute());

  it("is final if the branch does not exist, and the push that creates it starts a run immediately", async () => {
    const { org, connection, name, repository, workspace } = await prepare({}, { branch: "release" });
    repository.push({ "main.tf": "" });
    const vcsRepo = { identifier: name, "oauth-token-id": connection.tokenId, branch: "later" };
    await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { "vcs-repo": vcsRepo }));
    await work();
    const [missing] = await eventsOf(org.owner, workspace.id);
    expect(missing.attributes).toMatchObject({ kind: "connection", outcome: "failed" });
    const after = repository.push({ "main.tf": "# 1" }, { branch: "later" });
    await pushTo(api, connection, { repository: name, after, branch: "later" });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("started a run");
  });

  it.each([
    ["a private address", "http://10.1.2.3/modules.git"],
    ["a refused scheme", "file:///etc"],
  ])("is final if a submodule is at %s", async (_, url) => {
    const { org, connection, name, repository, workspace } = await prepare({}, { "ingress-submodules": true });
    addSubmodule(repository.work, "modules", url, "a".repeat(40));
    const after = repository.commit();
    await pushTo(api, connection, { repository: name, after });
    await work();
    const [event] = await eventsOf(org.owner, workspace.id);
    expect(event.attributes).toMatchObject({ outcome: "failed" });
  });

  it("is final if the provider refuses the credential", async () => {
    const { org, connection, name, repository, workspace } = await prepare();
    const after = repository.push({ "main.tf": "" });
    server.authorization = "Basic of-somebody-else";
    await pushTo(api, connection, { repository: name, after });
    await work();
    server.authorization = undefined;
    const [event] = await eventsOf(org.owner, workspace.id);
    expect(event.attributes).toMatchObject({ outcome: "failed" });
    expect(event.attributes.detail).toContain("refuses the connection's token");
  });

  it("does not delay a newer push to the same branch, which supersedes it", async () => {
    const { org, connection, name, repository, workspace } = await prepare();
    const first = repository.push({ "main.tf": "# 1" });
    await pushTo(api, connection, { repository: name, after: first });
    await whileDown(repository, work);
    expect(await latestDetail(org.owner, workspace.id)).toContain("attempt 1 failed");
    const second = repository.push({ "main.tf": "# 2" });
    await pushTo(api, connection, { repository: name, after: second, before: first });
    await work();
    await makeDue();
    await work();
    const [newer, older] = await eventsOf(org.owner, workspace.id);
    expect(newer.attributes).toMatchObject({ outcome: "started" });
    expect(older.attributes).toMatchObject({
      outcome: "ignored",
      detail: `push ${first.slice(0, 7)} started no run: push ${second.slice(0, 7)} superseded it`,
    });
    expect(await runsOf(org, workspace)).toHaveLength(1);
  });

  it("is retried, and starts its run, if the newer push changed no matching file", async () => {
    const { org, connection, name, repository, workspace } = await prepare({ "trigger-patterns": ["modules/**"] });
    const first = repository.push({ "modules/a.tf": "" });
    await pushTo(api, connection, { repository: name, after: first, files: ["modules/a.tf"] });
    await whileDown(repository, work);
    const second = repository.push({ "README.md": "2" });
    await pushTo(api, connection, { repository: name, after: second, before: first, files: ["README.md"] });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("no changed file matches");
    await makeDue();
    await work();
    const [, older] = await eventsOf(org.owner, workspace.id);
    expect(older.attributes).toMatchObject({ outcome: "started" });
  });

  it("delays no pull request, and a pull request supersedes no push", async () => {
    const { org, connection, name, repository, workspace } = await prepare();
    const first = repository.push({ "main.tf": "# 1" });
    await pushTo(api, connection, { repository: name, after: first });
    await whileDown(repository, work);
    const sha = repository.push({ "main.tf": "# 2" }, { branch: "feature" });
    await request(connection, name, { sha, isNew: true });
    await work();
    expect(await latestDetail(org.owner, workspace.id)).toContain("started a speculative plan");
    await makeDue();
    await work();
    expect(await runsOf(org, workspace)).toHaveLength(1);
  });
});
