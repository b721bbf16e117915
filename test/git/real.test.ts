/**
 * From a push to a notification, with only the provider's API faked: a real Git server, a webhook created by the server, real
 * Terraform, the commit status and the notification. Needs engines (see `npm run test:real`), and is skipped without them.
 */
import { createHmac } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { findEngines } from "../../src/agent/engines.ts";
import {
  dropRegistersAfterwards,
  newRegister,
  type Service,
  startService,
  stopService,
  useFolder,
} from "../cli/support.ts";
import { type Caller, callerOn, type Json } from "../support/api.ts";
import { data, resource } from "../support/builders.ts";
import { type GitServer, startGitServer, type TestRepository } from "../support/git.ts";
import { FakeGithub } from "../support/github.ts";
import { useReceiver } from "../support/receiver.ts";
import { github } from "../support/vcs-payloads.ts";
import { scaled, until } from "../support/waiting.ts";

const engineFolder = process.env["CADASTRE_TEST_ENGINE_FOLDER"] ?? "";
const hasEngines = engineFolder !== "";
const token = "a secret of both";
const adminToken = "the-admin-of-what-is-pushed";

if (!hasEngines) it.skip("real engines: set CADASTRE_TEST_ENGINE_FOLDER", () => undefined);

dropRegistersAfterwards();

const ended = ["applied", "errored", "canceled", "discarded", "planned_and_finished"];
const main = (word: string) => `resource "terraform_data" "one" {\n  input = "${word}"\n}\n`;

describe.runIf(hasEngines)("with real Terraform", () => {
  const folder = hasEngines ? useFolder() : "";
  const receiver = useReceiver();
  const provider = new FakeGithub();
  let git: GitServer;
  let service: Service;
  let admin: Caller;
  let tokenId: string;
  let engine: string;

  beforeAll(async () => {
    const { terraform } = await findEngines(engineFolder);
    engine = terraform.at(-1) ?? "";
    expect(engine, `Build engines into ${engineFolder} first; npm run conformance:cli does.`).not.toBe("");
    git = await startGitServer();
    git.api = provider.listener;
    service = await startService({
      ...(await newRegister(inject("engine"))),
      CADASTRE_ADMIN_TOKEN: adminToken,
      CADASTRE_WORKERS: "2",
      CADASTRE_ENGINES: engineFolder,
      CADASTRE_AGENT_DIRECTORY: join(folder, "agent"),
      CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1",
    });
    admin = callerOn(service.url, adminToken);
    data(await admin.post("/organizations", resource("organizations", { name: "acme", email: "a@b.c" })));
    const client = resource("oauth-clients", {
      "service-provider": "github",
      "api-url": git.url,
      "http-url": git.url,
      "oauth-token-string": "a token of the provider",
    });
    const made = data(await admin.post("/organizations/acme/oauth-clients", client));
    tokenId = made.relationships["oauth-tokens"].data[0].id;
  });
  afterAll(async () => {
    await stopService(service);
    git.stop();
  });

  /** A connected workspace with a subscriber, once the server has created its webhook. */
  async function connect(name: string, more: object = {}): Promise<Json> {
    const body = resource("workspaces", {
      name: name.replace("/", "-"),
      "execution-mode": "remote",
      "terraform-version": engine,
      "auto-apply": true,
      "queue-all-runs": true,
      "vcs-repo": { identifier: name, "oauth-token-id": tokenId, ...more },
    });
    const workspace = data(await admin.post("/organizations/acme/workspaces", body));
    const configuration = resource("notification-configurations", {
      name: "notified",
      "destination-type": "generic",
      enabled: true,
      url: receiver.url,
      token,
      triggers: ["run:completed", "run:errored"],
    });
    data(await admin.post(`/workspaces/${workspace.id}/notification-configurations`, configuration));
    await until(
      () => provider.hooks.get(name),
      () => `a webhook: ${service.out()}`,
    );
    return workspace;
  }

  const eventOf = (workspace: Json, sha: string): Promise<Json> =>
    until(
      async () =>
        data(await admin.get(`/workspaces/${workspace.id}/vcs-events`)).find(
          ({ attributes }: Json) => attributes["commit-sha"] === sha && attributes.outcome !== null,
        ),
      () => `an outcome of ${sha}: ${service.out()}`,
    );

  /** Waits for the end of the run that an event started. */
  async function runOf(event: Json): Promise<Json> {
    expect(event.attributes.detail).toContain("started");
    return until(
      async () => {
        const run = data(await admin.get(`/runs/${event.relationships.run.data.id}`));
        return ended.includes(run.attributes.status) ? run : undefined;
      },
      () => `the end of the run: ${service.out()}`,
    );
  }

  const commitStatus = (sha: string): Promise<string> =>
    until(
      () => provider.statesOf(sha).find((state) => state !== "pending"),
      () => `a status of ${sha}: ${JSON.stringify(provider.statuses)}`,
    );

  const notificationOf = (run: Json) =>
    until(
      () => receiver.heard.find(({ body }) => body.run_id === run.id),
      () => `a notification of ${run.id}`,
    );

  /** A workspace connected to a repository with one applied commit. */
  async function connectAndApply(
    name: string,
  ): Promise<{ workspace: Json; repository: TestRepository; first: string }> {
    const repository = git.repository(name);
    const first = repository.push({ "main.tf": main("begun") });
    const workspace = await connect(name);
    const run = await runOf(await eventOf(workspace, first));
    expect(run.attributes.status, service.out()).toBe("applied");
    return { workspace, repository, first };
  }

  it(
    "a push is applied, its commit gets a status, and a notification is sent; a pull request gets a plan",
    { timeout: scaled(600_000) },
    async () => {
      const name = "acme/network";
      const { workspace, repository, first } = await connectAndApply(name);
      const after = repository.push({ "main.tf": main("pushed") }, { message: "Push it" });
      expect(await provider.deliver(name, "push", github.push({ repository: name, before: first, after }))).toBe(202);
      const run = await runOf(await eventOf(workspace, after));
      expect(run.attributes, service.out()).toMatchObject({ status: "applied", message: "Push it" });
      expect(await commitStatus(after)).toBe("success");
      expect(provider.statuses.findLast(({ sha }) => sha === after)).toMatchObject({
        repository: name,
        context: "Cadastre/acme/acme-network",
        target_url: `${service.url}/app/acme/acme-network/runs/${run.id}`,
      });
      const notification = await notificationOf(run);
      expect(notification.body.notifications).toEqual([
        expect.objectContaining({ trigger: "run:completed", run_status: "applied" }),
      ]);
      expect(notification.headers["x-tfe-notification-signature"]).toBe(
        createHmac("sha512", token).update(notification.text).digest("hex"),
      );
      const outputs = data(await admin.get(`/workspaces/${workspace.id}/resources`));
      expect(outputs.map(({ attributes }: Json) => attributes.address)).toEqual(["terraform_data.one"]);

      const sha = repository.push({ "main.tf": main("asked for") }, { branch: "feature" });
      const request = github.pullRequest({ sha, isNew: true });
      request.pull_request.base.sha = after;
      expect(await provider.deliver(name, "pull-request", request)).toBe(202);
      const plan = await runOf(await eventOf(workspace, sha));
      expect(plan.attributes, service.out()).toMatchObject({
        status: "planned_and_finished",
        "plan-only": true,
        "has-changes": true,
      });
      expect(await commitStatus(sha)).toBe("success");
      expect(receiver.heard.filter(({ body }) => body.run_id === plan.id)).toEqual([]);
    },
  );

  it("a matching tag is applied, and another is not", { timeout: scaled(600_000) }, async () => {
    const name = "acme/tagged";
    const repository = git.repository(name);
    repository.push({ "main.tf": main("tagged") });
    const workspace = await connect(name, { "tags-regex": "^v\\d+\\.\\d+\\.\\d+$" });
    const deliver = async (tag: string) => {
      const sha = repository.tag(tag);
      const payload = github.tag(tag, sha);
      payload.repository = { ...payload.repository, full_name: name };
      expect(await provider.deliver(name, "tag", payload)).toBe(202);
      return sha;
    };
    await deliver("nightly");
    const ignored = await until(
      async () =>
        data(await admin.get(`/workspaces/${workspace.id}/vcs-events`)).find(
          ({ attributes }: Json) => attributes.tag === "nightly" && attributes.outcome !== null,
        ),
      () => "the outcome of the first tag",
    );
    expect(ignored.attributes.detail).toContain("the tag 'nightly' does not match tags-regex");
    repository.push({ "main.tf": main("released") });
    const sha = await deliver("v1.0.0");
    const run = await runOf(await eventOf(workspace, sha));
    expect(run.attributes.status, service.out()).toBe("applied");
    expect(await commitStatus(sha)).toBe("success");
    expect((await notificationOf(run)).body.notifications[0].trigger).toBe("run:completed");
  });
});
