/** Requests to providers: creating and removing webhooks, and commit statuses, against a fake API of each provider. */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { trackRunStatus } from "../../../src/resources/vcs/commit-statuses/writes.ts";
import { sendStatuses } from "../../../src/resources/vcs/commit-statuses/sending.ts";
import { syncWebhooks } from "../../../src/resources/vcs/webhooks/sync.ts";
import { type Json, useApi } from "../../support/api.ts";
import { data, makeOrganization, resource } from "../../support/builders.ts";
import { makeRun, makeRunnable } from "../../support/runs.ts";
import { makeConnected, makeConnection, vcsJobContext } from "../../support/vcs.ts";
import { newSha, providers } from "../../support/vcs-payloads.ts";

const api = useApi();
interface Call {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: Json;
}
let calls: Call[] = [];
let status = 201;
let http: Server;
let url = "";

beforeAll(async () => {
  http = createServer((request, response) => {
    let text = "";
    request.on("data", (piece) => (text += String(piece)));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      calls.push({
        method,
        path,
        authorization: headers.authorization,
        body: text === "" ? undefined : JSON.parse(text),
      });
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ id: calls.length, uuid: `{${calls.length}}`, message: "as asked" }));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => void http.close());
beforeEach(() => {
  calls = [];
  status = 201;
});

const work = () => vcsJobContext(api, { privateAddresses: ["127.0.0.1"] });
const connect = async (provider: (typeof providers)[string]) => {
  const org = await makeOrganization(api);
  const attributes = { "service-provider": provider.serviceProvider, "api-url": url, "http-url": url };
  const connection = await makeConnection(org, attributes);
  return { org, connection };
};

const hookPaths: Record<string, string> = {
  github: "/repos/acme/network/hooks",
  gitea: "/repos/acme/network/hooks",
  forgejo: "/repos/acme/network/hooks",
  gitlab: "/projects/acme%2Fnetwork/hooks",
  "bitbucket cloud": "/repositories/acme/network/hooks",
  "bitbucket data center": "/rest/api/1.0/projects/acme/repos/network/webhooks",
  "azure devops": "/acme/_apis/hooks/subscriptions?api-version=6.0",
};
const statusPaths: Record<string, [string, string, string]> = {
  github: ["/repos/acme/network/statuses/SHA", "pending", "success"],
  gitea: ["/repos/acme/network/statuses/SHA", "pending", "success"],
  forgejo: ["/repos/acme/network/statuses/SHA", "pending", "success"],
  gitlab: ["/projects/acme%2Fnetwork/statuses/SHA", "pending", "success"],
  "bitbucket cloud": ["/repositories/acme/network/commit/SHA/statuses/build", "INPROGRESS", "SUCCESSFUL"],
  "bitbucket data center": ["/rest/api/1.0/projects/acme/repos/network/commits/SHA/builds", "INPROGRESS", "SUCCESSFUL"],
  "azure devops": [
    "/acme/infra/_apis/git/repositories/network/commits/SHA/statuses?api-version=6.0",
    "pending",
    "succeeded",
  ],
};

describe.each(Object.entries(providers))("%s", (name, provider) => {
  it("gets one request for a webhook, with URL and secret, and one to remove it with the last workspace", async () => {
    const { org, connection } = await connect(provider);
    const workspace = await makeConnected(api, org, connection, {}, { identifier: provider.repository });
    await syncWebhooks(work());
    await syncWebhooks(work());
    const expected = name === "azure devops" ? 3 : 1;
    expect(calls.map(({ method, path }) => `${method} ${path}`)).toEqual(
      Array.from({ length: expected }, () => `POST ${hookPaths[name]}`),
    );
    const sent = JSON.stringify(calls[0]?.body);
    expect(sent).toContain(`${api.url}/webhooks/vcs/${connection.id}`);
    expect(sent).toContain(connection.secret);
    expect(calls[0]?.authorization).toBeDefined();
    data(await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { "vcs-repo": null })));
    calls = [];
    await syncWebhooks(work());
    expect(calls.map(({ method }) => method)).toEqual(Array.from({ length: expected }, () => "DELETE"));
    calls = [];
    await syncWebhooks(work());
    expect(calls).toEqual([]);
  });

  it("gets the pending and the final status of a run, each once, with a link", async () => {
    const { org, connection } = await connect(provider);
    const workspace = await makeRunnable(api, org.name);
    const run = await makeRun(org.owner, workspace.id, {});
    const sha = newSha();
    const commit = { repository: provider.repository, sha, oauthTokenId: connection.tokenId };
    await api.database.write((tx) =>
      trackRunStatus(tx, work().capability, { id: run.id, organizationId: org.id }, commit),
    );
    const [path = "", pending, success] = statusPaths[name] ?? [];
    await sendStatuses(work());
    await sendStatuses(work());
    expect(calls.map(({ method, path: asked }) => `${method} ${asked}`)).toEqual([`POST ${path.replace("SHA", sha)}`]);
    expect(calls[0]?.body.state).toBe(pending);
    expect(JSON.stringify(calls[0]?.body)).toContain(`/app/${org.name}/${workspace.attributes.name}/runs/${run.id}`);
    await api.database.write((tx) =>
      tx.db.updateTable("runs").set({ status: "applied" }).where("id", "=", run.id).execute(),
    );
    await sendStatuses(work());
    await sendStatuses(work());
    expect(calls.map(({ body }) => body.state)).toEqual([pending, success]);
  });
});

describe("a provider that refuses", () => {
  it("is recorded as an event, with instructions; a rotated secret creates the webhook again", async () => {
    const github = providers["github"]!;
    const { org, connection } = await connect(github);
    await makeConnected(api, org, connection);
    status = 403;
    await syncWebhooks(work());
    const [event] = data(await org.owner.get(`/organizations/${org.name}/vcs-events?filter[levels]=error`));
    expect(event.attributes.detail).toMatch(
      /could not be created: .* responded with status 403 \(as asked\).*Create it at the provider/,
    );
    await api.database.write((tx) => tx.db.updateTable("vcsWebhooks").set({ dueMs: 0 }).execute());
    status = 201;
    await syncWebhooks(work());
    calls = [];
    const rotated = resource("oauth-clients", { "webhook-secret": null });
    const made = data(await org.owner.patch(`/oauth-clients/${connection.id}`, rotated)).attributes["webhook-secret"];
    await syncWebhooks(work());
    expect(calls.map(({ method }) => method)).toEqual(["POST", "DELETE"]);
    expect(calls[0]?.body.config.secret).toBe(made);
  });
});
