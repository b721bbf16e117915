/** The deliveries of configurations and webhooks. */
import { describe, expect, it } from "vitest";
import { deliverNotifications } from "../../../../src/resources/shared/outbox/delivery.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { data, makeMember, makeOrganization, resource, unique } from "../../../support/builders.ts";
import { allowed, answering, useReceiver } from "../../../support/receiver.ts";
import { makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";
import { enqueueAuditNotifications } from "../../../../src/resources/connections/audit-webhooks/enqueue.ts";
import { deliver, make, makeDue } from "./support.ts";

const api = useApi({ options: { privateAddresses: allowed } });
const receiver = useReceiver();

async function makeConfiguredWorkspace(): Promise<Json> {
  const org = await makeOrganization(api);
  const workspace = await makeRunnable(api, org.name);
  const attributes = { enabled: true, url: receiver.url, triggers: ["run:created"] };
  const configuration = await make(org.owner, `/workspaces/${workspace.id}`, attributes);
  return { ...org, workspace, path: `/notification-configurations/${configuration.id}/deliveries` };
}

describe("listNotificationDeliveries", () => {
  it("lists pending, failed and successful deliveries, with the response, newest first", async () => {
    const { owner, name, workspace, path } = await makeConfiguredWorkspace();
    await makeRun(owner, workspace.id);
    const place = `${name}/${workspace.attributes.name}`;
    expect(data(await owner.get(path))).toMatchObject([
      {
        type: "deliveries",
        attributes: { event: "run:created", place, state: "waiting", attempts: 0, response: null },
      },
      {
        attributes: { event: "verification", place: null, state: "delivered", attempts: 1, response: { code: "200" } },
      },
    ]);
    receiver.answer = answering(500, "x".repeat(5000));
    await deliver(api);
    const [again] = data(await owner.get(path));
    expect(again.attributes).toMatchObject({
      state: "waiting",
      attempts: 1,
      response: { code: "500", body: "x".repeat(1024), successful: "false", headers: { "x-receiver": ["test"] } },
      "finished-at": null,
    });
    expect(Date.parse(again.attributes["next-attempt-at"])).toBeGreaterThan(Date.parse(again.attributes["created-at"]));
    receiver.answer = answering(200, "thanks");
    await makeDue(api);
    await deliver(api);
    await makeRun(owner, workspace.id);
    const all = data(await owner.get(path));
    expect(all.map(({ attributes }: Json) => [attributes.state, attributes.attempts])).toEqual([
      ["waiting", 0],
      ["delivered", 2],
      ["delivered", 1],
    ]);
    expect(all[1].id).toBe(receiver.heard.at(-1)?.headers["x-cadastre-delivery"]);
    expect(all[1].attributes).toMatchObject({ "next-attempt-at": null, response: { code: "200", body: "thanks" } });
    expect(all[1].attributes["finished-at"]).not.toBeNull();
    const paged = await owner.get(`${path}?page[size]=1&page[number]=2`);
    expect(paged.body.data.map(({ id }: Json) => id)).toEqual([all[1].id]);
    expect(paged.body.meta.pagination["total-count"]).toBe(3);
  });

  it("includes successful verifications, under the id that was sent, and no failed ones", async () => {
    const org = await makeOrganization(api);
    const workspace = await makeRunnable(api, org.name);
    const created = await make(org.owner, `/workspaces/${workspace.id}`, { url: receiver.url, triggers: [] });
    const path = `/notification-configurations/${created.id}`;
    const log = async () =>
      data(await org.owner.get(`${path}/deliveries`)).map(({ id, attributes }: Json) => [attributes.event, id]);
    const verifications = () => receiver.heard.map(({ headers }) => ["verification", headers["x-cadastre-delivery"]]);
    expect(await log()).toEqual([]);
    data(await org.owner.post(`${path}/actions/verify`));
    data(await org.owner.patch(path, resource("notification-configurations", { enabled: true })));
    expect(verifications()).toHaveLength(2);
    expect(await log()).toEqual(verifications().toReversed());
    receiver.answer = answering(500, "not now");
    expect((await org.owner.post(`${path}/actions/verify`)).status).toBe(400);
    expect(await log()).toHaveLength(2);
  });

  it("404 and 403: for callers who can't change the configuration", async () => {
    const { name, path } = await makeConfiguredWorkspace();
    const member = await makeMember(api, name);
    expect((await member.get(path)).status).toBe(404);
    expect((await (await makeOrganization(api)).owner.get(path)).status).toBe(404);
  });

  it("removes deliveries after 30 days", async () => {
    const { owner, workspace, path } = await makeConfiguredWorkspace();
    await makeRun(owner, workspace.id);
    await deliver(api);
    const old = new Date(Date.now() - 31 * 86_400_000).toISOString();
    await api.database.write((tx) => tx.db.updateTable("notices").set({ finishedAt: old }).execute());
    await deliverNotifications(jobContextOf(api), {});
    expect(data(await owner.get(path))).toEqual([]);
  });
});

describe("listAuditWebhookDeliveries", () => {
  it("lists the deliveries of audit events", async () => {
    const org = await makeOrganization(api);
    const attributes = { name: unique("hook"), url: receiver.url, events: ["projects.create"], enabled: true };
    const path = `/organizations/${org.name}/audit-webhooks`;
    const webhook = data(await org.owner.post(path, resource("audit-webhooks", attributes)));
    data(await org.owner.post(`/organizations/${org.name}/projects`, resource("projects", { name: unique("p") })));
    await enqueueAuditNotifications(jobContextOf(api));
    await deliver(api);
    const deliveries = data(await org.owner.get(`/audit-webhooks/${webhook.id}/deliveries`));
    expect(
      deliveries.map(({ attributes }: Json) => [attributes.event, attributes.state, attributes.response.code]),
    ).toEqual([
      ["projects.create", "delivered", "200"],
      ["verification", "delivered", "200"],
    ]);
    data(await org.owner.post(`/audit-webhooks/${webhook.id}/actions/verify`));
    data(await org.owner.patch(`/audit-webhooks/${webhook.id}`, resource("audit-webhooks", { token: "of both" })));
    const [newest, before] = data(await org.owner.get(`/audit-webhooks/${webhook.id}/deliveries`));
    expect([before.id, newest.id]).toEqual(
      receiver.heard.slice(-2).map(({ headers }) => headers["x-cadastre-delivery"]),
    );
    expect((await (await makeMember(api, org.name)).get(`/audit-webhooks/${webhook.id}/deliveries`)).status).toBe(403);
  });
});
