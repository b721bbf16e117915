/** Receiving webhooks: signatures, stored events, ignored events and repeated deliveries. */
import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { startApiOn, useApi } from "../../../support/api.ts";
import { data, makeOrganization, resource } from "../../../support/builders.ts";
import {
  deliver,
  eventsOf,
  latestDetail,
  makeConnected,
  makeConnection,
  pushTo,
  processVcsEvents,
} from "../../../support/vcs.ts";
import { github, newSha, providers, zeros } from "../../../support/vcs-payloads.ts";
import { scaled } from "../../../support/waiting.ts";

const api = useApi();

const filler = (length: number): readonly number[] => Array.from({ length }, () => 0);

describe.each(Object.entries(providers))("a webhook of %s", (_name, provider) => {
  const prepare = async (attributes: object = {}) => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org, {
      "service-provider": provider.serviceProvider,
      "api-url": "https://dev.azure.example",
      "http-url": "https://dev.azure.example",
    });
    const workspace = await makeConnected(api, org, connection, attributes, { identifier: provider.repository });
    return { org, connection, workspace };
  };

  it("202: a push, with the commit, the branch and the sender; repeated: 204", async () => {
    const { org, connection, workspace } = await prepare({ "execution-mode": "local" });
    const body = provider.push({ after: newSha() });
    const headers = provider.headers("push", JSON.stringify(body), connection.secret);
    expect((await deliver(api, connection.id, body, headers)).status).toBe(202);
    expect((await deliver(api, connection.id, body, headers)).status).toBe(204);
    const [event, ...others] = await eventsOf(org.owner, workspace.id);
    expect(others).toEqual([]);
    expect(event.attributes).toMatchObject({ kind: "push", branch: "main", outcome: null, level: "info" });
    expect(event.attributes["commit-sha"]).toMatch(/^[0-9a-f]{40}$/);
    expect(event.relationships.workspace.data.id).toBe(workspace.id);
    await processVcsEvents(api);
    expect(await latestDetail(org.owner, workspace.id)).toMatch(/^push [0-9a-f]{7} started no run: the workspace has/);
  });

  it("401: signed with another secret, or not at all; nothing is stored", async () => {
    const { org, connection, workspace } = await prepare();
    const body = provider.push();
    const wrong = provider.headers("push", JSON.stringify(body), "another secret, just as long");
    const none = Object.fromEntries(
      Object.entries(wrong).filter(([name]) => !/signature|token|authorization/.test(name)),
    );
    const answer = await deliver(api, connection.id, body, wrong);
    expect(answer.status).toBe(401);
    expect(answer.text).toContain("webhook-secret");
    expect((await deliver(api, connection.id, body, none)).status).toBe(401);
    expect(await eventsOf(org.owner, workspace.id)).toEqual([]);
  });

  it("413: JSON with too many members for the main thread; nothing is stored", async () => {
    const { org, connection, workspace } = await prepare();
    const body = { ...provider.push(), further: filler(100_001) };
    const headers = provider.headers("push", JSON.stringify(body), connection.secret);
    const answer = await deliver(api, connection.id, body, headers);
    expect(answer.status).toBe(413);
    expect(answer.text).toContain("100000 members");
    expect(await eventsOf(org.owner, workspace.id)).toEqual([]);
  });

  it("202: a tag, a deletion and a pull request", async () => {
    const { org, connection, workspace } = await prepare({ "speculative-enabled": false });
    const send = async (event: "push" | "tag" | "pull-request", body: object) => {
      const headers = provider.headers(event, JSON.stringify(body), connection.secret);
      expect((await deliver(api, connection.id, body, headers)).status).toBe(202);
      await processVcsEvents(api);
      return (await eventsOf(org.owner, workspace.id))[0].attributes;
    };
    expect(await send("tag", provider.tag("v1.2.0"))).toMatchObject({
      kind: "tag",
      tag: "v1.2.0",
      outcome: "ignored",
      detail: expect.stringMatching(/^tag v1\.2\.0 \(\w{7}\) started no run: it is a tag, and the workspace has no/),
    });
    expect(await send("push", provider.push({ before: newSha(), after: zeros }))).toMatchObject({
      outcome: "ignored",
      detail: expect.stringContaining("the branch 'main' was deleted"),
    });
    expect(await send("pull-request", provider.pullRequest())).toMatchObject({
      kind: "pull-request",
      "pull-request-number": 7,
      branch: "main",
      detail: expect.stringMatching(/^pull request 7 \(\w{7}\) started no run: speculative-enabled is false$/),
    });
  });

  it("a pull request from a fork starts no plan", async () => {
    const { org, connection, workspace } = await prepare();
    const body = provider.pullRequest({ fork: "eve/network" });
    const headers = provider.headers("pull-request", JSON.stringify(body), connection.secret);
    expect((await deliver(api, connection.id, body, headers)).status).toBe(202);
    await processVcsEvents(api);
    expect(await latestDetail(org.owner, workspace.id)).toContain("it comes from the fork 'eve/network'");
  });

  it("204: another repository, another event, and an invalid payload", async () => {
    const { org, connection, workspace } = await prepare();
    const send = async (event: "push" | "star", body: object | string) => {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      return (await deliver(api, connection.id, body, provider.headers(event, text, connection.secret))).status;
    };
    expect(await send("push", provider.push({ repository: "acme/other/_git/other" }))).toBe(204);
    expect(await send("star", { ...provider.push(), eventType: "build.complete" })).toBe(204);
    expect(await send("push", provider.push({ branch: "a\0b" }))).toBe(204);
    // Inherited properties are not event names.
    const odd = { ...provider.push(), eventType: "constructor" };
    const named = Object.entries(provider.headers("push", JSON.stringify(odd), connection.secret)).map(
      ([name, value]) => [name, /-event$|-event-key$/.test(name) ? "constructor" : value],
    );
    expect((await deliver(api, connection.id, odd, Object.fromEntries(named))).status).toBe(204);
    for (const body of ["", "{", "[]", "null", "7", '{"repository":{}}']) expect(await send("push", body)).toBe(204);
    expect(await eventsOf(org.owner, workspace.id)).toEqual([]);
  });
});

describe("a webhook", () => {
  it("404: an unknown connection; its body is not read", async () => {
    for (const id of ["oc-nothing", "%00", "x".repeat(300)]) expect((await deliver(api, id, "{", {})).status).toBe(404);
  });

  it("429: too many large concurrent requests to a connection, before their signatures are verified", async () => {
    const org = await makeOrganization(api);
    const [connection, other] = [await makeConnection(org), await makeConnection(org)];
    const { hostname, port } = new URL(api.url);
    const head = `POST /webhooks/vcs/${connection.id} HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n`;
    const dawdling = Array.from({ length: 8 }, () => connect(Number(port), hostname));
    for (const socket of dawdling) socket.on("error", () => {}).write(head);
    const large = " ".repeat(2_000_000);
    const sent = async (id: string) => (await deliver(api, id, large, {})).status;
    await vi.waitUntil(async () => (await sent(connection.id)) === 429, { timeout: scaled(20_000) });
    expect(await sent(other.id)).toBe(401);
    expect((await deliver(api, connection.id, "{}", {})).status).toBe(401);
    for (const socket of dawdling) socket.destroy();
    await vi.waitUntil(async () => (await sent(connection.id)) === 401, { timeout: scaled(20_000) });
    // Clients that disconnect during the lookup do not keep a slot.
    const gone = Array.from({ length: 40 }, () => connect(Number(port), hostname));
    for (const socket of gone) socket.on("error", () => {}).write(head, () => socket.destroy());
    await Promise.all(gone.map((socket) => once(socket, "close")));
    await vi.waitUntil(async () => (await sent(connection.id)) === 401, { timeout: scaled(20_000) });
  });

  it("415: sent as a form; 413: a larger body than any provider sends", async () => {
    const connection = await makeConnection(await makeOrganization(api));
    const form = { "content-type": "application/x-www-form-urlencoded" };
    expect((await deliver(api, connection.id, "payload=%7B%7D", form)).status).toBe(415);
    expect((await deliver(api, connection.id, " ".repeat(26 * 1024 * 1024), {})).status).toBe(413);
  });

  it("is for all workspaces with its repository, ignoring case, and for no others", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org);
    const other = await makeConnection(org);
    const local = { "execution-mode": "local" };
    const upper = await makeConnected(api, org, connection, local, { identifier: "ACME/Network" });
    const lower = await makeConnected(api, org, connection, local);
    const elsewhere = await makeConnected(api, org, other, local);
    expect(await pushTo(api, connection)).toBe(202);
    await processVcsEvents(api);
    expect(await eventsOf(org.owner, upper.id)).toHaveLength(1);
    expect(await eventsOf(org.owner, lower.id)).toHaveLength(1);
    expect(await eventsOf(org.owner, elsewhere.id)).toEqual([]);
    const all = data(await org.owner.get(`/organizations/${org.name}/vcs-events`));
    expect(all).toHaveLength(2);
    const { included } = (await org.owner.get(`/organizations/${org.name}/vcs-events?include=workspace`)).body;
    expect(included.map(({ id }: { id: string }) => id).sort()).toEqual([upper.id, lower.id].sort());
  });

  it("is stored once if two servers receive it at the same time", async () => {
    const { database, address } = api;
    const second = await startApiOn({ database, address, drop: async () => undefined });
    try {
      const org = await makeOrganization(api);
      const connection = await makeConnection(org);
      const workspace = await makeConnected(api, org, connection);
      const body = github.push();
      const headers = github.headers("push", JSON.stringify(body), connection.secret);
      const answers = await Promise.all(
        [api, second, api, second].map((server) => deliver(server, connection.id, body, headers)),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([202, 204, 204, 204]);
      expect(await eventsOf(org.owner, workspace.id)).toHaveLength(1);
    } finally {
      await second.server.close();
    }
  });

  it("is counted in metrics", async () => {
    const metrics = async () => (await api.admin.get("/api/../metrics")).body as string;
    const connection = await makeConnection(await makeOrganization(api));
    expect(await pushTo(api, connection)).toBe(204);
    expect(await metrics()).toMatch(/cadastre_vcs_events_total\{provider="github",result="unknown"\} \d/);
  });
});

describe("the webhook-secret", () => {
  const path = (id: string) => `/oauth-clients/${id}`;
  const rotate = (secret: string | null) => resource("oauth-clients", { "webhook-secret": secret });

  it("is generated and shown once, with its URL", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org);
    expect(connection.secret).toMatch(/^[\w-]{43}$/);
    expect(data(await org.owner.get(path(connection.id))).attributes).not.toHaveProperty("webhook-secret");
    const workspace = await makeConnected(api, org, connection);
    expect(workspace.attributes["vcs-repo"]["webhook-url"]).toBe(`${api.url}/webhooks/vcs/${connection.id}`);
  });

  it("is not shown if the caller set it; 422: too short, or with spaces", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org, { "webhook-secret": "a-secret-of-our-own" });
    expect(connection.secret).toBeUndefined();
    await makeConnected(api, org, connection);
    expect(await pushTo(api, { ...connection, secret: "a-secret-of-our-own" })).toBe(202);
    expect((await org.owner.patch(path(connection.id), rotate("short"))).status).toBe(422);
    expect((await org.owner.patch(path(connection.id), rotate("long enough, with blanks"))).status).toBe(422);
  });

  it("is rotated without loss: the previous one stays valid for a day, and the audit log has an event", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org);
    await makeConnected(api, org, connection);
    const made = data(await org.owner.patch(path(connection.id), rotate(null))).attributes["webhook-secret"];
    expect(made).not.toBe(connection.secret);
    expect(await pushTo(api, connection)).toBe(202);
    expect(await pushTo(api, { ...connection, secret: made })).toBe(202);
    const [event] = data(
      await org.owner.get(`/organizations/${org.name}/audit-events?filter[action]=oauth-clients.update`),
    );
    expect(event.attributes.after["replaced-secrets"]).toEqual(["webhook-secret"]);
    expect(JSON.stringify(event)).not.toContain(made);
    await api.database.write((tx) =>
      tx.db.updateTable("oauthClients").set({ formerWebhookSecretUntil: "2020-01-01T00:00:00.000Z" }).execute(),
    );
    expect(await pushTo(api, connection)).toBe(401);
    expect(await pushTo(api, { ...connection, secret: made })).toBe(202);
  });

  it("401 with instructions: a connection without a secret", async () => {
    const org = await makeOrganization(api);
    const connection = await makeConnection(org);
    await api.database.write((tx) =>
      tx.db.updateTable("oauthClients").set({ webhookSecret: null }).where("id", "=", connection.id).execute(),
    );
    const body = github.push();
    const answer = await deliver(api, connection.id, body, github.headers("push", JSON.stringify(body), ""));
    expect(answer.status).toBe(401);
    expect(answer.text).toContain("no webhook-secret yet");
  });
});
