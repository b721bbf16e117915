/**
 * Server processes that are killed between receiving and processing an event: nothing is lost, and nothing but status requests is done
 * twice. And two servers that receive the same event.
 */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { dropRegistersAfterwards, newRegister, type Service, startService, stopService } from "../cli/support.ts";
import { type Caller, callerOn, type Json } from "../support/api.ts";
import { data, resource, unique } from "../support/builders.ts";
import { type GitServer, startGitServer } from "../support/git.ts";
import { FakeGithub } from "../support/github.ts";
import { github } from "../support/vcs-payloads.ts";
import { scaled, until } from "../support/waiting.ts";

dropRegistersAfterwards();
const adminToken = "the-admin-of-the-killed";
const provider = new FakeGithub();
let git: GitServer;
let settings: Record<string, string>;
const running = new Set<Service>();

beforeAll(async () => {
  git = await startGitServer();
  git.api = provider.listener;
  settings = {
    ...(await newRegister(inject("engine"), true)),
    CADASTRE_ADMIN_TOKEN: adminToken,
    CADASTRE_LOG_LEVEL: "error",
    CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1",
  };
});
afterAll(async () => {
  for (const service of running) service.process.kill("SIGKILL");
  git.stop();
});

async function start(): Promise<Service & { admin: Caller }> {
  const service = await startService(settings);
  running.add(service);
  return { ...service, admin: callerOn(service.url, adminToken) };
}

async function kill(service: Service): Promise<void> {
  service.process.kill("SIGKILL");
  await service.ended;
}

/** A workspace whose repository was fetched at connection, and its webhook. */
async function connected(admin: Caller) {
  const organization = unique("org");
  const name = `acme/${unique("repository")}`;
  const repository = git.repository(name);
  const before = repository.push({ "main.tf": "# 1" });
  data(await admin.post("/organizations", resource("organizations", { name: organization, email: "a@b.c" })));
  const client = resource("oauth-clients", {
    "service-provider": "github",
    "api-url": git.url,
    "http-url": git.url,
    "oauth-token-string": "a token of the provider",
  });
  const made = data(await admin.post(`/organizations/${organization}/oauth-clients`, client));
  const body = resource("workspaces", {
    name: "network",
    "execution-mode": "remote",
    "queue-all-runs": true,
    "vcs-repo": { identifier: name, "oauth-token-id": made.relationships["oauth-tokens"].data[0].id },
  });
  const workspace = data(await admin.post(`/organizations/${organization}/workspaces`, body));
  await until(() => provider.hooks.get(name), "a webhook");
  await decided(admin, workspace, 1);
  return { name, repository, before, workspace };
}

/** Waits until this many events of a workspace are decided. */
const decided = (admin: Caller, workspace: Json, count: number): Promise<Json[]> =>
  until(async () => {
    const events: Json[] = data(await admin.get(`/workspaces/${workspace.id}/vcs-events`));
    const isOver = events.length >= count && events.every(({ attributes }) => attributes.outcome !== null);
    return isOver ? events : undefined;
  }, `${count} events are decided`);

const runsOf = async (admin: Caller, workspace: Json): Promise<string[]> =>
  data(await admin.get(`/workspaces/${workspace.id}/runs`)).map(({ attributes }: Json) => attributes.message);

/** Blocks fetches until released; `asked` resolves with the first one. */
function holdFetches(): { asked: Promise<void>; release: () => void } {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  git.held = promise;
  git.requests.length = 0;
  const asked = until(() => (git.requests.some(({ path }) => path.includes(".git/")) ? true : undefined), "a fetch");
  return {
    asked: asked.then(() => undefined),
    release: () => {
      git.held = undefined;
      release();
    },
  };
}

it(
  "a server that is killed during a fetch loses nothing, and one run starts",
  { timeout: scaled(600_000) },
  async () => {
    const first = await start();
    const { name, repository, before, workspace } = await connected(first.admin);
    const after = repository.push({ "main.tf": "# 2" }, { message: "Pushed" });
    const { asked, release } = holdFetches();
    expect(await provider.deliver(name, "push", github.push({ repository: name, before, after }))).toBe(202);
    await asked;
    await kill(first);
    release();
    const second = await start();
    const [event] = await decided(second.admin, workspace, 2);
    expect(event.attributes).toMatchObject({ outcome: "started", "commit-sha": after });
    expect(await runsOf(second.admin, workspace)).toEqual(["Pushed", "A change"]);
    await stopService(second);
  },
);

it(
  "a notification is sent again with the same id if the server was killed before the response",
  { timeout: scaled(600_000) },
  async () => {
    const received: { id: string; trigger: string }[] = [];
    const open: ServerResponse[] = [];
    let isHeld = false;
    const receiver: Server = createServer((request, response) => {
      const trigger = String(request.headers["x-cadastre-event"]);
      received.push({ id: String(request.headers["x-cadastre-delivery"]), trigger });
      request.resume();
      if (isHeld) open.push(response);
      else response.writeHead(204).end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    try {
      const first = await start();
      const { workspace, name, repository, before } = await connected(first.admin);
      const attributes = {
        name: "notified",
        "destination-type": "generic",
        enabled: true,
        url,
        triggers: ["run:created"],
      };
      const path = `/workspaces/${workspace.id}/notification-configurations`;
      const configuration = data(await first.admin.post(path, resource("notification-configurations", attributes)));
      isHeld = true;
      const after = repository.push({ "main.tf": "# 2" });
      await provider.deliver(name, "push", github.push({ repository: name, before, after }));
      await until(() => open[0], "a notification is being sent");
      await kill(first);
      isHeld = false;
      const second = await start();
      const deliveries = `/notification-configurations/${configuration.id}/deliveries`;
      const [delivery] = await until(async () => {
        const all: Json[] = data(await second.admin.get(deliveries));
        return all[0]?.attributes.state === "delivered" ? all : undefined;
      }, "the notification is delivered");
      const created = received.filter(({ trigger }) => trigger === "run:created");
      expect(created.length).toBeGreaterThanOrEqual(2);
      expect(new Set(created.map(({ id }) => id))).toEqual(new Set([delivery.id]));
      await stopService(second);
    } finally {
      receiver.closeAllConnections();
      receiver.close();
    }
  },
);

it("two servers that receive the same delivery start one run", { timeout: scaled(600_000) }, async () => {
  const servers = [await start(), await start()] as const;
  const { admin } = servers[0];
  const { name, repository, before, workspace } = await connected(admin);
  const after = repository.push({ "main.tf": "# 2" }, { message: "Pushed" });
  const payload = github.push({ repository: name, before, after });
  const deliveryId = unique("delivery");
  const sent = [0, 1, 0, 1].map((at) => provider.deliver(name, "push", payload, { to: servers[at]!.url, deliveryId }));
  expect((await Promise.all(sent)).toSorted()).toEqual([202, 204, 204, 204]);
  // And as another delivery of the same event, as after a manual redelivery.
  expect(await provider.deliver(name, "push", payload, { to: servers[1].url })).toBe(202);
  const events = await decided(admin, workspace, 3);
  expect(events.map(({ attributes }) => attributes.outcome).toSorted()).toEqual(["ignored", "started", "started"]);
  expect(await runsOf(admin, workspace)).toEqual(["Pushed", "A change"]);
  for (const server of servers) await stopService(server);
});
