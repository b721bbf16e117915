/** Notifications about runs: of the workspace, its project, or a team; their format; and when there are none. */
import { expect, describe, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource } from "../../../support/builders.ts";
import { allowed, answering, useReceiver } from "../../../support/receiver.ts";
import { advanceRun, applyTransition, makeConfiguration, makeRun, makeRunnable } from "../../../support/runs.ts";
import { runTriggerNames } from "../../../../src/resources/connections/notification-configurations/triggers.ts";
import { signatureOf } from "../../../../src/resources/shared/outbox/webhook.ts";
import { deliver, make, makeDue } from "./support.ts";

const wokenJobs: string[] = [];
const api = useApi({ options: { privateAddresses: allowed }, wake: (job) => wokenJobs.push(job) });
const receiver = useReceiver();

interface SubscribedOrganization extends Org {
  readonly id: string;
  readonly workspace: Json;
}

/** A workspace with a receiver for all events, whose events so far are cleared. */
async function makeSubscribedWorkspace(
  attributes: object = {},
): Promise<SubscribedOrganization & { configuration: Json }> {
  const org = await api.makeOrganization();
  const workspace = await makeRunnable(api, org.name);
  const configuration = await subscribe(org, `/workspaces/${workspace.id}`, attributes);
  return { ...org, workspace, configuration };
}

async function subscribe(org: Org, parentPath: string, attributes: object = {}): Promise<Json> {
  const all = { enabled: true, url: receiver.url, triggers: [...runTriggerNames], ...attributes };
  const created = await make(org.owner, parentPath, all);
  receiver.heard.length = 0;
  return created;
}

const triggers = () => receiver.heard.map(({ body }) => body.notifications[0].trigger).toSorted();
const statuses = () => receiver.heard.map(({ body }) => body.notifications[0].run_status).toSorted();

describe("a run", () => {
  it("sends each transition, with a snapshot of the run, signed and with an id", async () => {
    const { name, owner, workspace, configuration } = await makeSubscribedWorkspace({ token: "hush" });
    wokenJobs.length = 0;
    const run = await makeRun(owner, workspace.id, { message: "Deploy <it> & see" });
    expect(wokenJobs).toEqual(["notices"]);
    await advanceRun(api, run.id, "planned");
    expect(await deliver(api)).toBe(3);
    const received = receiver.heard.find(({ body }) => body.notifications[0].trigger === "run:needs_attention");
    expect(received?.body).toEqual({
      payload_version: 1,
      notification_configuration_id: configuration.id,
      run_url: `https://cadastre.example/app/${name}/workspaces/${workspace.attributes.name}/runs/${run.id}`,
      run_id: run.id,
      run_message: "Deploy <it> & see",
      run_created_at: run.attributes["created-at"],
      run_created_by: expect.stringMatching(/./),
      workspace_id: workspace.id,
      workspace_name: workspace.attributes.name,
      organization_name: name,
      notifications: [
        {
          message: "Run Needs Attention",
          trigger: "run:needs_attention",
          run_status: "planned",
          run_updated_at: expect.stringMatching(/Z$/),
          run_updated_by: null,
        },
      ],
    });
    expect(received?.headers["x-tfe-notification-signature"]).toBe(signatureOf("hush", received?.text ?? ""));
    expect(new Set(receiver.heard.map(({ headers }) => headers["x-cadastre-delivery"])).size).toBe(3);
    expect(triggers()).toEqual(["run:created", "run:needs_attention", "run:planning"]);
    expect(await deliver(api)).toBe(0);
    const shown = data(await owner.get(`/notification-configurations/${configuration.id}`));
    expect(shown.attributes["delivery-responses"]).toMatchObject([{ code: "200", body: "heard", successful: "true" }]);
  });

  it("sends the apply, and who confirmed it", async () => {
    const { owner, workspace } = await makeSubscribedWorkspace();
    const run = await makeRun(owner, workspace.id);
    await advanceRun(api, run.id, "planned");
    await owner.post(`/runs/${run.id}/actions/apply`);
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, { event: "phase-finished" });
    await deliver(api);
    expect(triggers()).toEqual(["run:applying", "run:completed", "run:created", "run:needs_attention", "run:planning"]);
    expect(statuses()).toEqual(["applied", "applying", "pending", "planned", "planning"]);
  });

  it.each([
    ["what is applied by itself waits for nobody", { "auto-apply": true }, "planned", []],
    ["a plan without changes is complete", {}, "finished", ["run:completed"]],
    ["a plan that failed", {}, "errored", ["run:errored"]],
    ["a saved plan waits for somebody", { "save-plan": true }, "planned", ["run:needs_attention"]],
  ] as const)("%s", async (_, attributes, to, expected) => {
    const { owner, workspace } = await makeSubscribedWorkspace();
    await advanceRun(api, (await makeRun(owner, workspace.id, attributes)).id, to);
    await deliver(api);
    expect(triggers()).toEqual(["run:created", "run:planning", ...expected].toSorted());
  });

  it.each([
    ["cancel", "canceled", "pending"],
    ["discard", "discarded", "planned"],
  ] as const)("that a user ends is reported as errored, with the user: %s", async (action, status, from) => {
    const { owner, workspace } = await makeSubscribedWorkspace();
    const run = await makeRun(owner, workspace.id);
    if (from === "planned") await advanceRun(api, run.id, "planned");
    await owner.post(`/runs/${run.id}/actions/${action}`);
    await deliver(api);
    const [ended] = receiver.heard.filter(({ body }) => body.notifications[0].trigger === "run:errored");
    expect(ended?.body.notifications[0]).toMatchObject({
      run_status: status,
      run_updated_by: ended?.body.run_created_by,
    });
  });

  it("sends nothing about speculative plans, nor to disabled configurations or other triggers", async () => {
    const { name, owner, workspace } = await makeSubscribedWorkspace({ triggers: ["run:errored"] });
    const org = { name, owner } as Org;
    await subscribe(org, `/workspaces/${workspace.id}`, { enabled: false });
    await subscribe(org, `/workspaces/${(await makeRunnable(api, name)).id}`);
    await advanceRun(api, (await makeRun(owner, workspace.id, { "plan-only": true })).id, "errored");
    await advanceRun(api, (await makeRun(owner, workspace.id)).id, "finished");
    expect(await deliver(api)).toBe(0);
  });
});

describe("of a project and of a team", () => {
  it("a project is notified about all its workspaces, also moved ones, and about no others", async () => {
    const org = await api.makeOrganization();
    const project = await api.makeProject(org.name);
    await subscribe(org, `/projects/${project.id}`, { triggers: ["run:created"] });
    const inside = await api.makeWorkspace(org.name, { "execution-mode": "remote" }, inProject(project.id));
    await makeConfiguration(api, inside.id);
    const outside = await makeRunnable(api, org.name);
    await makeRun(org.owner, inside.id);
    await makeRun(org.owner, outside.id);
    await deliver(api);
    expect(receiver.heard.map(({ body }) => body.workspace_id)).toEqual([inside.id]);
  });

  it("a team is notified about the workspaces whose runs it can read, as long as it can", async () => {
    const org = await api.makeOrganization();
    const team = await api.makeTeam(org.name);
    await subscribe(org, `/teams/${team.id}`, { triggers: ["run:created"] });
    const project = await api.makeProject(org.name);
    const seen = await api.makeWorkspace(org.name, { "execution-mode": "remote" }, inProject(project.id));
    await makeConfiguration(api, seen.id);
    const unseen = await makeRunnable(api, org.name);
    const record = await api.grantProject(project.id, team.id, "read");
    for (const { id } of [seen, unseen]) await makeRun(org.owner, id);
    await deliver(api);
    expect(receiver.heard.map(({ body }) => body.workspace_id)).toEqual([seen.id]);
    receiver.heard.length = 0;
    expect((await org.owner.delete(`/team-projects/${record}`)).status).toBe(204);
    await makeRun(org.owner, seen.id);
    expect(await deliver(api)).toBe(0);
    const access = { "organization-access": { "read-workspaces": true } };
    data(await org.owner.patch(`/teams/${team.id}`, resource("teams", access)));
    await makeRun(org.owner, unseen.id);
    await deliver(api);
    expect(receiver.heard.map(({ body }) => body.workspace_id)).toEqual([unseen.id]);
  });
});

describe("messages for people", () => {
  it("Slack gets text with its markup escaped, Teams a card", async () => {
    const org = await makeSubscribedWorkspace({ "destination-type": "slack", triggers: ["run:created"] });
    await subscribe(org, `/workspaces/${org.workspace.id}`, {
      "destination-type": "microsoft-teams",
      triggers: ["run:created"],
    });
    const run = await makeRun(org.owner, org.workspace.id, { message: "<!channel> & more" });
    await deliver(api);
    const link = `https://cadastre.example/app/${org.name}/workspaces/${org.workspace.attributes.name}/runs/${run.id}`;
    const slack = receiver.heard.find(({ body }) => body.blocks !== undefined)?.body;
    expect(slack.text).toBe("Run Created");
    expect(slack.blocks[0].text.text).toContain(`*<${link}|Run Created>*`);
    expect(slack.blocks[0].text.text).toContain("*Message:* &lt;!channel&gt; &amp; more");
    const card = receiver.heard.find(({ body }) => body.type === "message")?.body.attachments[0];
    expect(card).toMatchObject({
      contentType: "application/vnd.microsoft.card.adaptive",
      content: { type: "AdaptiveCard", actions: [{ type: "Action.OpenUrl", url: link }] },
    });
    expect(card.content.body[1].facts).toContainEqual({ title: "Message", value: "<!channel> & more" });
    for (const { headers } of receiver.heard) expect(headers["x-tfe-notification-signature"]).toBeUndefined();
  });
});

describe("an unreachable receiver", () => {
  const states = async (): Promise<string[]> =>
    (
      await api.database.reader.db.selectFrom("notices").select(["state", "attempts"]).orderBy("createdAt").execute()
    ).map(({ state, attempts }) => `${state} ${attempts}`);

  it("is tried five times, with growing delays, under the same id, and then no more", async () => {
    const { owner, workspace, configuration } = await makeSubscribedWorkspace({ triggers: ["run:created"] });
    await api.database.write((tx) => tx.db.deleteFrom("notices").execute());
    receiver.answer = answering(500, "no");
    await makeRun(owner, workspace.id);
    for (let attempt = 1; attempt <= 5; attempt += 1) {
      expect(await deliver(api)).toBe(1);
      expect(await deliver(api)).toBe(0);
      expect(await states()).toEqual([attempt < 5 ? `waiting ${attempt}` : "failed 5"]);
      await makeDue(api);
    }
    expect(await deliver(api)).toBe(0);
    expect(new Set(receiver.heard.map(({ headers }) => headers["x-cadastre-delivery"])).size).toBe(1);
    const shown = data(await owner.get(`/notification-configurations/${configuration.id}`));
    expect(shown.attributes["delivery-responses"]).toMatchObject([{ code: "500", body: "no", successful: "false" }]);
  });

  it("gets it when it is reachable again; one whose configuration was deleted gets nothing", async () => {
    const { owner, workspace, configuration } = await makeSubscribedWorkspace({ triggers: ["run:created"] });
    await api.database.write((tx) => tx.db.deleteFrom("notices").execute());
    receiver.answer = answering(503);
    await makeRun(owner, workspace.id);
    await deliver(api);
    receiver.answer = answering(204);
    await makeDue(api);
    await deliver(api);
    expect(await states()).toEqual(["delivered 2"]);
    receiver.answer = answering(503);
    await makeRun(owner, workspace.id);
    await deliver(api);
    await owner.delete(`/notification-configurations/${configuration.id}`);
    await makeDue(api);
    await deliver(api);
    expect(await states()).toEqual(["delivered 2"]);
  });

  it("does not delay others, however much is pending for it", async () => {
    const { owner, workspace } = await makeSubscribedWorkspace({ triggers: ["run:created"] });
    const slow = await makeSubscribedWorkspace({ triggers: ["run:created"] });
    await api.database.write((tx) => tx.db.deleteFrom("notices").execute());
    // The slow receiver never responds.
    await api.database.write((tx) =>
      tx.db
        .updateTable("notificationConfigurations")
        .set({ destination: "slow.example" })
        .where("id", "=", slow.configuration.id)
        .execute(),
    );
    receiver.answer = (request, response) => {
      const isSlow = receiver.heard.at(-1)?.body.workspace_id === slow.workspace.id;
      if (isSlow) request.socket.once("close", () => response.destroy());
      else answering(200)(request, response);
    };
    for (let count = 0; count < 6; count += 1) await makeRun(slow.owner, slow.workspace.id);
    await makeRun(owner, workspace.id);
    const controller = new AbortController();
    const running = deliver(api, {}, { perDestinationMax: 2 }, controller.signal).catch(() => {});
    await expect.poll(states).toContain("delivered 1");
    expect(receiver.heard.filter(({ body }) => body.workspace_id === workspace.id)).toHaveLength(1);
    expect(receiver.heard.filter(({ body }) => body.workspace_id === slow.workspace.id)).toHaveLength(2);
    controller.abort();
    await running;
    // Deliveries in progress when the server stopped are still pending.
    expect((await states()).filter((state) => state === "waiting 0")).toHaveLength(6);
    await api.database.write((tx) => tx.db.deleteFrom("notices").execute());
  });
});
