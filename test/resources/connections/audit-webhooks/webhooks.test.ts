import { describe, expect, it } from "vitest";
import { notificationSenders } from "../../../../src/jobs/index.ts";
import { enqueueAuditNotifications } from "../../../../src/resources/connections/audit-webhooks/enqueue.ts";
import { deliverNotifications } from "../../../../src/resources/shared/outbox/delivery.ts";
import { signatureOf } from "../../../../src/resources/shared/outbox/webhook.ts";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, type Org, resource, unique } from "../../../support/builders.ts";
import { invitationBody } from "../../../support/invitations.ts";
import { allowed, answering, useReceiver } from "../../../support/receiver.ts";
import { jobContextOf } from "../../../support/states.ts";

const api = useApi({ options: { privateAddresses: allowed } });
const receiver = useReceiver();

const post = (org: Org, attributes: object): Promise<Answer> => {
  const all = { name: unique("hook"), url: receiver.url, events: ["*"], ...attributes };
  return org.owner.post(`/organizations/${org.name}/audit-webhooks`, resource("audit-webhooks", all));
};

async function make(org: Org, attributes: object): Promise<Json> {
  const created = data(await post(org, { enabled: true, ...attributes }));
  await work();
  receiver.heard.length = 0;
  return created;
}

/** Both jobs. */
async function work(): Promise<void> {
  const { context, ...rest } = jobContextOf(api);
  const jobContext = { ...rest, context: { ...context, options: { ...context.options, privateAddresses: allowed } } };
  await enqueueAuditNotifications(jobContext);
  const limits = { concurrencyMax: 32, perDestinationMax: 4, tickMs: 5, lingerMs: -1 };
  await deliverNotifications(jobContext, notificationSenders, limits);
}

const pathOf = ({ id }: Json): string => `/audit-webhooks/${id}`;
const patch = (org: Org, webhook: Json, attributes: object) =>
  org.owner.patch(pathOf(webhook), resource("audit-webhooks", attributes));
const names = () => receiver.heard.map(({ body }) => body.event).toSorted();
const actions = () => receiver.heard.map(({ body }) => body.audit_event.action).toSorted();

describe("audit events", () => {
  it("are sent to subscribers, signed, with actor, action, before and after", async () => {
    const org = await api.makeOrganization();
    const webhook = await make(org, { events: ["workspaces.*"], token: "hush" });
    const other = await api.makeOrganization();
    await api.makeWorkspace(other.name);
    await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name);
    await org.owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { description: "new" }));
    await work();
    expect(names()).toEqual(["workspaces.create", "workspaces.update"]);
    const received = receiver.heard.find(({ body }) => body.event === "workspaces.update");
    expect(received?.headers).toMatchObject({
      "x-cadastre-delivery": received?.body.delivery_id,
      "x-cadastre-event": "workspaces.update",
      "x-tfe-notification-signature": signatureOf("hush", received?.text ?? ""),
    });
    expect(received?.body).toMatchObject({
      payload_version: 1,
      audit_webhook_id: webhook.id,
      organization_name: org.name,
      audit_event: {
        id: expect.stringMatching(/^ae-/),
        action: "workspaces.update",
        actor: { kind: "user", id: expect.stringMatching(/^user-/) },
        subject: { type: "workspaces", id: workspace.id },
        before: { description: null },
        after: { description: "new" },
        created_at: expect.stringMatching(/Z$/),
      },
    });
    receiver.heard.length = 0;
    await work();
    expect(receiver.heard).toEqual([]);
  });

  it("that change access are sent as such", async () => {
    const org = await api.makeOrganization();
    await make(org, { events: ["access.changed"] });
    const team = await api.makeTeam(org.name);
    const { email } = await api.makeUser();
    data(await org.owner.post(`/organizations/${org.name}/organization-memberships`, invitationBody(email, [team.id])));
    await api.grantProject(org.defaultProjectId, team.id, "read");
    await api.makeWorkspace(org.name);
    await work();
    expect(new Set(names())).toEqual(new Set(["access.changed"]));
    expect(actions()).toEqual(
      expect.arrayContaining(["organization-memberships.create", "team-projects.create", "teams.create"]),
    );
    expect(actions()).not.toContain("workspaces.create");
  });

  it("are not sent to a webhook that is disabled, or did not exist yet", async () => {
    const org = await api.makeOrganization();
    await api.makeProject(org.name);
    const webhook = await make(org, { events: ["projects.*"], enabled: false });
    await api.makeProject(org.name);
    await patch(org, webhook, { enabled: true });
    receiver.heard.length = 0;
    await api.makeProject(org.name);
    await work();
    expect(names()).toEqual(["projects.create"]);
  });

  it("wait for an unreachable receiver, and are deleted with the webhook", async () => {
    const org = await api.makeOrganization();
    const webhook = await make(org, { events: ["projects.*"] });
    receiver.answer = answering(500);
    await api.makeProject(org.name);
    await work();
    const shown = data(await org.owner.get(pathOf(webhook)));
    expect(shown.attributes["delivery-responses"]).toMatchObject([{ code: "500", successful: "false" }]);
    expect((await org.owner.delete(pathOf(webhook))).status).toBe(204);
    await api.database.write((tx) => tx.db.updateTable("notices").set({ dueMs: 0 }).execute());
    receiver.answer = answering(200);
    receiver.heard.length = 0;
    await work();
    expect(receiver.heard).toEqual([]);
  });
});

describe("locks that are held too long", () => {
  const longAgo = new Date(Date.now() - 26 * 3_600_000).toISOString();
  const lockSince = async (org: Org, id: string, lockedAt: string) => {
    await org.owner.post(`/workspaces/${id}/actions/lock`, { reason: "looking into it" });
    await api.database.write((tx) => tx.db.updateTable("workspaces").set({ lockedAt }).where("id", "=", id).execute());
  };

  it("are reported once each time", async () => {
    const org = await api.makeOrganization();
    await make(org, { events: ["lock.held"], "lock-held-longer-than": "1d" });
    await make(org, { events: ["lock.held"], "lock-held-longer-than": "2d" });
    const [long, short] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    await lockSince(org, long.id, longAgo);
    await lockSince(org, short.id, new Date().toISOString());
    await work();
    await work();
    expect(receiver.heard.map(({ body }) => body)).toMatchObject([
      {
        event: "lock.held",
        organization_name: org.name,
        lock: {
          workspace_id: long.id,
          workspace_name: long.attributes.name,
          held_by: { type: "users", id: expect.stringMatching(/^user-/) },
          reason: "looking into it",
          locked_at: longAgo,
          longer_than: "1d",
        },
      },
    ]);
    await org.owner.post(`/workspaces/${long.id}/actions/unlock`);
    await lockSince(org, long.id, new Date(Date.parse(longAgo) + 1000).toISOString());
    await work();
    expect(receiver.heard).toHaveLength(2);
  });
});

describe("the webhooks themselves", () => {
  it("show no token, are verified before they are used, and can be verified again", async () => {
    const org = await api.makeOrganization();
    const created = data(await post(org, { enabled: true, token: "hush", events: ["lock.held"] }));
    expect(created.attributes).toMatchObject({
      enabled: true,
      token: null,
      url: receiver.url,
      "lock-held-longer-than": "24h",
      "delivery-responses": [{ code: "200" }],
    });
    expect(receiver.heard.map(({ body }) => body.event)).toEqual(["verification"]);
    expect(data(await org.owner.get(pathOf(created)))).toEqual(created);
    data(await org.owner.post(`${pathOf(created)}/actions/verify`));
    receiver.answer = answering(404);
    expect((await org.owner.post(`${pathOf(created)}/actions/verify`)).status).toBe(400);
    expect((await post(org, { enabled: true })).status).toBe(400);
    expect((await patch(org, created, { url: `${receiver.url}/x` })).status).toBe(400);
    expect(data(await patch(org, created, { events: ["*"] })).attributes.events).toEqual(["*"]);
    expect((await org.owner.get(`/organizations/${org.name}/audit-webhooks`)).body.data).toHaveLength(1);
  });

  it("422: wrong events, durations, addresses and names that are taken", async () => {
    const org = await api.makeOrganization();
    const wrong = async (attributes: object) => {
      const { status, body } = await post(org, attributes);
      expect(status).toBe(422);
      return body.errors.map(({ source }: Json) =>
        source.pointer.replace("/data/attributes/", "").replace(/\/\d+$/, ""),
      );
    };
    expect(
      await wrong({ name: " ", url: "mailto:x", events: ["Workspaces", "a.b.c"], "lock-held-longer-than": "0h" }),
    ).toEqual(expect.arrayContaining(["name", "url", "events", "lock-held-longer-than"]));
    expect(await wrong({ events: [] })).toEqual(["events"]);
    const created = data(await post(org, { name: "One" }));
    expect(await wrong({ name: "one" })).toEqual(["name"]);
    const other = data(await post(org, { name: "other" }));
    expect((await patch(org, other, { name: created.attributes.name })).status).toBe(422);
  });

  it("403 for members, 404 for non-members, and nothing is sent", async () => {
    const org = await api.makeOrganization();
    const created = data(await post(org, {}));
    const member = await api.makeMember(org.name);
    const stranger = (await api.makeOrganization()).owner;
    const body = resource("audit-webhooks", { enabled: true });
    for (const [caller, status] of [
      [member, 403],
      [stranger, 404],
    ] as const) {
      expect((await caller.get(pathOf(created))).status).toBe(status);
      expect((await caller.patch(pathOf(created), body)).status).toBe(status);
      expect((await caller.get(`/organizations/${org.name}/audit-webhooks`)).status).toBe(status);
      expect((await caller.post(`${pathOf(created)}/actions/verify`)).status).toBe(status);
    }
    expect(receiver.heard).toEqual([]);
  });
});
