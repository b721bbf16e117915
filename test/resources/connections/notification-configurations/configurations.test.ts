import { expect, describe, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, type Org, resource } from "../../../support/builders.ts";
import { allowed, answering, useReceiver } from "../../../support/receiver.ts";
import { signatureOf } from "../../../../src/resources/shared/outbox/webhook.ts";
import { make, post } from "./support.ts";

const api = useApi({ options: { privateAddresses: allowed } });
const receiver = useReceiver();

interface OrganizationWithWorkspace extends Org {
  readonly workspace: string;
}

async function makeOrganizationWithWorkspace(): Promise<OrganizationWithWorkspace> {
  const org = await api.makeOrganization();
  return { ...org, workspace: `/workspaces/${(await api.makeWorkspace(org.name)).id}` };
}

const pathOf = ({ id }: Json): string => `/notification-configurations/${id}`;
const patch = (org: Org, configuration: Json, attributes: object, relationships: object = {}) =>
  org.owner.patch(pathOf(configuration), resource("notification-configurations", attributes, relationships));

describe("createWorkspaceNotificationConfiguration", () => {
  it("201: with what was sent, without the token, and with nothing delivered yet", async () => {
    const org = await makeOrganizationWithWorkspace();
    const created = await make(org.owner, org.workspace, {
      name: "Deployments",
      url: "http://example.com",
      token: "hush",
      triggers: ["run:created", "run:created", "assessment:check_failure"],
    });
    expect(created.attributes).toMatchObject({
      name: "Deployments",
      "destination-type": "generic",
      enabled: false,
      url: "http://example.com",
      token: null,
      triggers: ["run:created", "assessment:check_failure"],
      "email-addresses": [],
      "delivery-responses": [],
    });
    expect(created.attributes["updated-at"]).toBe(created.attributes["created-at"]);
    expect(created.relationships.subscribable.data).toEqual({ type: "workspaces", id: org.workspace.slice(12) });
    expect(created.links.self).toBe(`/api/v2${pathOf(created)}`);
    expect(data(await org.owner.get(pathOf(created)))).toEqual(created);
  });

  it("201: accepts the singular type", async () => {
    const org = await makeOrganizationWithWorkspace();
    const attributes = { name: "one", "destination-type": "slack", url: "https://hooks.example/x" };
    const body = { data: { type: "notification-configuration", attributes } };
    const created = data(await org.owner.post(`${org.workspace}/notification-configurations`, body));
    expect(created.type).toBe("notification-configurations");
  });

  it("201: enabled, it verifies the destination first, signed, and stores the response", async () => {
    const org = await makeOrganizationWithWorkspace();
    receiver.answer = answering(202, "listening");
    const created = await make(org.owner, org.workspace, {
      name: "Ours",
      enabled: true,
      url: receiver.url,
      token: "hush",
    });
    const [received] = receiver.heard;
    expect(receiver.heard).toHaveLength(1);
    expect(received?.headers).toMatchObject({
      "content-type": "application/json",
      "x-cadastre-event": "verification",
      "x-tfe-notification-signature": signatureOf("hush", received?.text ?? ""),
    });
    expect(received?.headers["x-cadastre-delivery"]).toMatch(/^dlv-/);
    expect(received?.body).toEqual({
      payload_version: 1,
      notification_configuration_id: created.id,
      run_url: null,
      run_id: null,
      run_message: null,
      run_created_at: null,
      run_created_by: null,
      workspace_id: null,
      workspace_name: null,
      organization_name: null,
      notifications: [
        {
          message: "Verification of Ours",
          trigger: "verification",
          run_status: null,
          run_updated_at: null,
          run_updated_by: null,
        },
      ],
    });
    expect(created.attributes["delivery-responses"]).toEqual([
      {
        url: receiver.url,
        body: "listening",
        code: "202",
        headers: expect.objectContaining({ "x-receiver": ["test"] }),
        "sent-at": expect.stringMatching(/^\d{4}-.*Z$/),
        successful: "true",
      },
    ]);
  });

  it.each([
    ["an answer that is no 2xx", () => answering(500), "status 500"],
    ["a redirect", () => answering(302), "status 302"],
    ["nobody", undefined, "can't be reached"],
  ])("400, and nothing is saved: %s", async (_, answer, sentence) => {
    const org = await makeOrganizationWithWorkspace();
    if (answer !== undefined) receiver.answer = answer();
    const url = answer === undefined ? "http://127.0.0.1:1/" : receiver.url;
    const refused = await post(org.owner, org.workspace, { enabled: true, url });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].detail).toContain(sentence);
    expect(refused.body.errors[0].source.pointer).toBe("/data/attributes/url");
    expect((await org.owner.get(`${org.workspace}/notification-configurations`)).body.data).toEqual([]);
  });

  it("400: a private address that the operator does not allow", async () => {
    const org = await makeOrganizationWithWorkspace();
    const refused = await post(org.owner, org.workspace, { enabled: true, url: "https://169.254.169.254/latest" });
    expect(refused.status).toBe(400);
    expect(refused.body.errors[0].detail).toContain("CADASTRE_ALLOW_PRIVATE_ADDRESSES");
  });

  it("mail is not verified: it can be enabled on a site without a mail server", async () => {
    const org = await makeOrganizationWithWorkspace();
    const created = await make(org.owner, org.workspace, {
      "destination-type": "email",
      enabled: true,
      "email-addresses": ["ops@example.com"],
    });
    expect(created.attributes).toMatchObject({ enabled: true, url: null, "email-addresses": ["ops@example.com"] });
  });

  it("422: every invalid combination, in one response and with its pointer", async () => {
    const org = await makeOrganizationWithWorkspace();
    const stranger = await api.makeUser();
    const users = { users: { data: [{ type: "users", id: stranger.id }] } };
    const wrong = async (attributes: object, relationships?: object) => {
      const { status, body } = await post(org.owner, org.workspace, attributes, relationships);
      expect(status).toBe(422);
      return body.errors.map((error: Json) => error.source.pointer.replace("/data/", "").replace(/\/\d+$/, ""));
    };
    expect(
      await wrong({ name: " ", "destination-type": "pigeon", url: "ftp://x", triggers: ["run:dreaming"] }),
    ).toEqual(["attributes/name", "attributes/destination-type", "attributes/url", "attributes/triggers"]);
    expect(await wrong({ "destination-type": "slack", token: "t", "email-addresses": ["a@b.example"] }, users)).toEqual(
      ["attributes/url", "attributes/email-addresses", "relationships/users", "attributes/token"],
    );
    expect(await wrong({ "destination-type": "email", url: "https://x.example", token: "t" })).toEqual([
      "attributes/url",
      "attributes/token",
    ]);
    expect(await wrong({ "destination-type": "email", "email-addresses": ["nobody"] })).toEqual([
      "attributes/email-addresses",
    ]);
    expect(await wrong({ url: "https://x.example", triggers: ["change_request:created"] })).toEqual([
      "attributes/triggers",
    ]);
    expect(await wrong({ "destination-type": "email" }, users)).toEqual(["relationships/users"]);
  });

  it("422: more than twenty", async () => {
    const org = await makeOrganizationWithWorkspace();
    for (let count = 0; count < 20; count += 1) await make(org.owner, org.workspace, { url: "https://x.example" });
    const refused = await post(org.owner, org.workspace, { url: "https://x.example" });
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].detail).toContain("20");
  });

  it("403 for callers who can read the workspace, 404 for others, and nothing is sent", async () => {
    const org = await makeOrganizationWithWorkspace();
    const team = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    const sent = { enabled: true, url: receiver.url };
    expect((await post(member, org.workspace, sent)).status).toBe(404);
    await api.grantProject(org.defaultProjectId, team.id, "write");
    expect((await post(member, org.workspace, sent)).status).toBe(403);
    const created = await make(org.owner, org.workspace, { url: "https://x.example" });
    for (const answer of [
      await member.get(pathOf(created)),
      await member.get(`${org.workspace}/notification-configurations`),
      await member.post(`${pathOf(created)}/actions/verify`),
    ])
      expect(answer.status).toBe(403);
    expect(receiver.heard).toEqual([]);
  });
});

describe("of projects and teams", () => {
  it("work the same, each with its own list", async () => {
    const org = await makeOrganizationWithWorkspace();
    const project = `/projects/${(await api.makeProject(org.name)).id}`;
    const team = `/teams/${(await api.makeTeam(org.name)).id}`;
    for (const [parentPath, type] of [
      [project, "projects"],
      [team, "teams"],
    ] as const) {
      const created = await make(org.owner, parentPath, { url: "https://x.example", triggers: ["run:errored"] });
      expect(created.relationships.subscribable.data).toEqual({ type, id: parentPath.split("/")[2] });
      expect((await org.owner.get(`${parentPath}/notification-configurations`)).body.data).toEqual([created]);
    }
    const configuration = await make(org.owner, team, {
      url: "https://x.example",
      triggers: ["change_request:created"],
    });
    expect(configuration.attributes.triggers).toEqual(["change_request:created"]);
  });
});

describe("listWorkspaceNotificationConfigurations", () => {
  it("is complete unless a page is requested", async () => {
    const org = await makeOrganizationWithWorkspace();
    const [one, two] = [
      await make(org.owner, org.workspace, { url: "https://x.example" }),
      await make(org.owner, org.workspace, { url: "https://y.example" }),
    ];
    const path = `${org.workspace}/notification-configurations`;
    const whole = (await org.owner.get(path)).body;
    expect(whole.data).toEqual([one, two]);
    expect(whole.meta?.pagination).toBeUndefined();
    const paged = (await org.owner.get(`${path}?page[number]=999&page[size]=100`)).body;
    expect([paged.data, paged.meta.pagination["total-count"]]).toEqual([[], 2]);
  });
});

describe("updateNotificationConfiguration", () => {
  it("value, null and absent", async () => {
    const org = await makeOrganizationWithWorkspace();
    const sent = { url: "https://x.example/old", token: "old", triggers: ["run:created"] };
    const created = await make(org.owner, org.workspace, sent);
    expect(data(await patch(org, created, {}))).toEqual(created);
    const changed = data(
      await patch(org, created, {
        name: "new",
        url: "https://y.example/new",
        token: null,
        triggers: [],
        enabled: false,
      }),
    );
    expect(changed.attributes).toMatchObject({ name: "new", url: "https://y.example/new", triggers: [] });
    expect((await patch(org, created, { url: null })).status).toBe(422);
    expect(data(await org.owner.get(pathOf(created)))).toEqual(changed);
    const { rows } = await auditEventsOf(org, created.id);
    expect(rows.map(({ action }) => action)).toEqual([
      "notification-configurations.update",
      "notification-configurations.create",
    ]);
    expect(rows[0].after).toMatchObject({
      name: "new",
      destination: "y.example",
      "replaced-secrets": ["url", "token"],
    });
    expect(JSON.stringify(rows)).not.toMatch(/"old"|\/old|\/new/);
  });

  it("verifies again when it is enabled, or its address or token changes, and not when it is only renamed", async () => {
    const org = await makeOrganizationWithWorkspace();
    const created = await make(org.owner, org.workspace, { url: receiver.url, token: "one" });
    const verificationsAfter = async (attributes: object, status = 200) => {
      receiver.heard.length = 0;
      expect((await patch(org, created, attributes)).status).toBe(status);
      return receiver.heard.map(({ path, text, headers }) => {
        const signature = headers["x-tfe-notification-signature"];
        return `${path} ${["one", "two"].find((token) => signatureOf(token, text) === signature)}`;
      });
    };
    expect(await verificationsAfter({ name: "idle" })).toEqual([]);
    expect(await verificationsAfter({ enabled: true })).toEqual(["/told one"]);
    expect(await verificationsAfter({ name: "awake" })).toEqual([]);
    expect(await verificationsAfter({ token: "two" })).toEqual(["/told two"]);
    expect(await verificationsAfter({ url: `${receiver.url}/more` })).toEqual(["/told/more two"]);
    receiver.answer = answering(404);
    expect(await verificationsAfter({ url: `${receiver.url}/gone` }, 400)).toEqual(["/told/gone two"]);
    expect(data(await org.owner.get(pathOf(created))).attributes.url).toBe(`${receiver.url}/more`);
  });

  it("for mail, removes users that are not sent again, and users who leave", async () => {
    const org = await makeOrganizationWithWorkspace();
    const [ada, bob] = [await api.makeMember(org.name), await api.makeMember(org.name)];
    const users = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ type: "users", id })) } });
    const created = await make(org.owner, org.workspace, { "destination-type": "email" }, users(ada.id));
    const named = (document: Json) => document.relationships.users.data.map(({ id }: Json) => id);
    expect(named(created)).toEqual([ada.id]);
    const both = data(await patch(org, created, { enabled: true }, users(ada.id, bob.id)));
    expect(named(both).toSorted()).toEqual([ada.id, bob.id].toSorted());
    await api.admin.delete(`/admin/users/${bob.id}`);
    const shown = await org.owner.get(pathOf(created));
    expect(named(shown.body.data)).toEqual([ada.id]);
    expect(named(data(await patch(org, created, { name: "nobody" })))).toEqual([]);
  });
});

describe("verifyNotificationConfiguration", () => {
  it("200 with the response, also if it is disabled; 400 without a successful response", async () => {
    const org = await makeOrganizationWithWorkspace();
    const created = await make(org.owner, org.workspace, { url: receiver.url });
    const verified = data(await org.owner.post(`${pathOf(created)}/actions/verify`));
    expect(verified.attributes["delivery-responses"][0]).toMatchObject({ code: "200", body: "heard" });
    receiver.answer = answering(503);
    expect((await org.owner.post(`${pathOf(created)}/actions/verify`)).status).toBe(400);
    expect((await org.owner.post("/notification-configurations/nonexisting/actions/verify")).status).toBe(404);
  });

  it("400: mail, on a site without a mail server", async () => {
    const org = await makeOrganizationWithWorkspace();
    const created = await make(org.owner, org.workspace, {
      "destination-type": "email",
      "email-addresses": ["a@b.example"],
    });
    const refused = await org.owner.post(`${pathOf(created)}/actions/verify`);
    expect([refused.status, refused.body.errors[0].detail]).toEqual([
      400,
      expect.stringContaining("CADASTRE_SMTP_URL"),
    ]);
  });
});

it("deleteNotificationConfiguration: 204, and with its workspace", async () => {
  const org = await makeOrganizationWithWorkspace();
  const [one, two] = [
    await make(org.owner, org.workspace, { url: "https://x.example" }),
    await make(org.owner, org.workspace, { url: "https://x.example" }),
  ];
  expect((await org.owner.delete(pathOf(one))).status).toBe(204);
  expect((await org.owner.get(pathOf(one))).status).toBe(404);
  expect((await org.owner.delete(org.workspace)).status).toBe(204);
  expect((await org.owner.get(pathOf(two))).status).toBe(404);
});

async function auditEventsOf(org: Org, subjectId: string): Promise<{ rows: Json[] }> {
  const { body } = await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`);
  const rows = body.data.map(({ attributes }: Json) => attributes);
  return { rows: rows.filter((row: Json) => row["subject-id"] === subjectId) };
}
