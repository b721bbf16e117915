/**
 * Notifications about assessments and scheduled destroys, and the metrics of
 * deliveries. Attempts to receive a team's notifications about workspaces that the caller can't read.
 */
import { afterEach, describe, expect, it } from "vitest";
import { runAssessments } from "../../../../src/resources/runs/assessment-results/assessment-job.ts";
import { sendDestroyReminders } from "../../../../src/resources/runs/auto-destroy/schedule.ts";
import { startDueDestroys } from "../../../../src/resources/runs/auto-destroy/schedule.ts";
import { deliveryBackoffMs } from "../../../../src/resources/shared/backoff.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource } from "../../../support/builders.ts";
import { storeOutput } from "../../../support/phases.ts";
import { allowed, answering, useReceiver } from "../../../support/receiver.ts";
import { applyTransition, makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";
import { deliver, make, post } from "./support.ts";

const receiver = useReceiver();

describe("notifications", () => {
  const api = useApi({ options: { edition: "hosted", privateAddresses: allowed } });

  async function makeSubscribedWorkspace(triggers: string[], attributes: object = {}): Promise<Json> {
    const org = await api.makeOrganization();
    const workspace = await makeRunnable(api, org.name, attributes);
    const configuration = await make(org.owner, `/workspaces/${workspace.id}`, {
      enabled: true,
      url: receiver.url,
      triggers,
    });
    receiver.heard.length = 0;
    return { ...org, workspace, configuration };
  }

  it("are sent about assessments with findings, with the previous findings", async () => {
    const triggers = ["assessment:drifted", "assessment:check_failure", "assessment:failed"];
    const { id, name, owner, workspace, configuration } = await makeSubscribedWorkspace(triggers, {
      "assessments-enabled": true,
    });
    const run = await makeRun(owner, workspace.id, { "auto-apply": true });
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, { event: "phase-finished", hasChanges: true });
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, { event: "phase-finished" });
    const work = () => runAssessments(jobContextOf(api, { edition: "hosted" }));
    await work();
    const found = await owner.get(`/workspaces/${workspace.id}/runs?filter[operation]=plan_only`);
    const assessing = found.body.data[0].id;
    const plan = {
      resource_drift: [{ address: "a.b", change: { actions: ["update"] } }],
      checks: [{ status: "fail", instances: [{ status: "fail" }] }],
    };
    await applyTransition(api, assessing, { event: "claim" });
    await storeOutput(api, { id: assessing, organizationId: id } as never, "plan-json", JSON.stringify(plan));
    await applyTransition(api, assessing, { event: "phase-finished", hasChanges: true });
    await work();
    expect(await deliver(api)).toBe(2);
    const [drifted, failed] = receiver.heard
      .map(({ body }) => body)
      .toSorted((one, other) => other.trigger.localeCompare(one.trigger));
    expect(failed.trigger).toBe("assessment:check_failure");
    expect(drifted).toMatchObject({
      payload_version: "2",
      notification_configuration_id: configuration.id,
      notification_configuration_url: `https://cadastre.example/api/v2/notification-configurations/${configuration.id}`,
      trigger_scope: "assessment",
      trigger: "assessment:drifted",
      message: expect.stringContaining("drifted"),
      details: {
        organization_name: name,
        workspace_id: workspace.id,
        workspace_name: workspace.attributes.name,
        prior_assessment_result: null,
        new_assessment_result: {
          id: expect.stringMatching(/^asmtres-/),
          succeeded: true,
          drifted: true,
          all_checks_succeeded: false,
          resources_drifted: 1,
          checks_failed: 1,
        },
      },
    });
  });

  it("are sent about the end of a scheduled destroy run, and about a failure to start one", async () => {
    const { owner, workspace } = await makeSubscribedWorkspace(["workspace:auto_destroy_run_results"]);
    const due = async () => {
      await api.database.write((tx) =>
        tx.db
          .updateTable("workspaces")
          .set({ autoDestroyAt: "2020-01-01T00:00:00.000Z", autoDestroyStatus: null })
          .where("id", "=", workspace.id)
          .execute(),
      );
      await startDueDestroys(jobContextOf(api));
    };
    await due();
    const [run] = (await owner.get(`/workspaces/${workspace.id}/runs`)).body.data;
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, { event: "phase-errored" });
    await deliver(api);
    const common = { payload_version: "2", trigger_scope: "workspace", trigger: "workspace:auto_destroy_run_results" };
    expect(receiver.heard.map(({ body }) => body)).toMatchObject([
      { ...common, details: { trigger_type: "results", run_external_id: run.id, run_status: "errored" } },
    ]);
    receiver.heard.length = 0;
    data(await owner.patch(`/workspaces/${workspace.id}`, resource("workspaces", { "allow-destroy-plan": false })));
    await due();
    await deliver(api);
    expect(receiver.heard.map(({ body }) => body.details)).toMatchObject([
      { run_external_id: null, run_status: null, run_create_error_message: expect.stringMatching(/./) },
    ]);
  });

  describe("a reminder of a scheduled destroy", () => {
    const hourMs = 3_600_000;
    const inHours = (hours: number) => new Date(Date.now() + hours * hourMs).toISOString();
    const remind = () => sendDestroyReminders(jobContextOf(api));
    afterEach(() =>
      api.database.write(async (tx) => {
        await tx.db.deleteFrom("notices").execute();
        await tx.db.updateTable("workspaces").set({ autoDestroyAt: null, autoDestroyActivityDuration: null }).execute();
      }),
    );
    const schedule = (id: string, columns: object) =>
      api.database.write((tx) => tx.db.updateTable("workspaces").set(columns).where("id", "=", id).execute());

    it("comes once within 24 hours, once within 12, and again for another time", async () => {
      const { name, workspace } = await makeSubscribedWorkspace(["workspace:auto_destroy_reminder"]);
      const { id } = workspace;
      const [first, second] = [inHours(23), inHours(11)];
      await schedule(id, { autoDestroyAt: inHours(25) });
      expect(await remind()).toBe(0);
      await schedule(id, { autoDestroyAt: first });
      expect([await remind(), await remind()]).toEqual([1, 0]);
      await schedule(id, { autoDestroyAt: second });
      expect([await remind(), await remind()]).toEqual([1, 0]);
      await schedule(id, { autoDestroyAt: inHours(-1) });
      expect(await remind()).toBe(0);
      await deliver(api);
      const common = { payload_version: "2", trigger_scope: "workspace", trigger: "workspace:auto_destroy_reminder" };
      const details = { trigger_type: "reminder", organization_name: name, workspace_id: id, run_external_id: null };
      const bodies = receiver.heard.map(({ body }) => body);
      expect(
        bodies.toSorted((one, other) => (one.details.auto_destroy_at < other.details.auto_destroy_at ? -1 : 1)),
      ).toMatchObject([
        { ...common, details: { ...details, auto_destroy_at: second } },
        { ...common, details: { ...details, auto_destroy_at: first } },
      ]);
    });

    it("of an inactivity-based one comes for longer durations, and only for existing resources", async () => {
      const { workspace } = await makeSubscribedWorkspace(["workspace:auto_destroy_reminder"]);
      const ago = (hours: number) => ({ createdAt: inHours(-hours), latestChangeAt: inHours(-hours) });
      const lasting = (duration: string) => ({ autoDestroyActivityDuration: duration, inheritsProjectAutoDestroy: 0 });
      await schedule(workspace.id, { ...lasting("2d"), ...ago(30), resourceCount: 0 });
      expect(await remind()).toBe(0);
      await schedule(workspace.id, { resourceCount: 1 });
      expect([await remind(), await remind()]).toEqual([1, 0]);
      // Otherwise each use would send a reminder.
      await schedule(workspace.id, { ...lasting("20h"), ...ago(1) });
      expect(await remind()).toBe(0);
      await schedule(workspace.id, ago(10));
      expect(await remind()).toBe(1);
    });

    it("goes only to subscribers", async () => {
      const { workspace } = await makeSubscribedWorkspace(["workspace:auto_destroy_run_results"]);
      await schedule(workspace.id, { autoDestroyAt: inHours(2) });
      expect(await remind()).toBe(0);
    });
  });

  it("the metrics count pending deliveries and the results of attempts", async () => {
    const figures = async (): Promise<Record<string, number>> => {
      const answer = await fetch(`${api.url}/metrics`, { headers: { authorization: `Bearer ${api.admin.token}` } });
      const lines = (await answer.text()).split("\n").filter((line) => line.startsWith("cadastre_notice"));
      return Object.fromEntries(lines.map((line) => [line.split(" ")[0], Number(line.split(" ")[1])]));
    };
    const { owner, workspace } = await makeSubscribedWorkspace(["run:created"]);
    await makeRun(owner, workspace.id);
    const before = await figures();
    expect(before["cadastre_notices_waiting"]).toBe(1);
    const count = (all: Record<string, number>, result: string) =>
      all[`cadastre_notice_attempts_total{kind="notification",result="${result}"}`] ?? 0;
    receiver.answer = answering(500);
    await deliver(api);
    const after = await figures();
    expect(count(after, "retried") - count(before, "retried")).toBe(1);
    expect(after["cadastre_notices_waiting"]).toBe(1);
  });

  it("delays grow, and retries end after the fifth attempt", () => {
    expect([1, 2, 3, 4, 5].map((attempts) => deliveryBackoffMs(attempts, 0.5))).toEqual([
      1000,
      10_000,
      60_000,
      600_000,
      undefined,
    ]);
    expect([deliveryBackoffMs(2, 0), deliveryBackoffMs(2, 1)]).toEqual([8000, 12_000]);
  });
});

describe("manage-teams", () => {
  const api = useApi({ options: { privateAddresses: allowed } });

  interface Scene {
    readonly org: Org;
    readonly workspace: Json;
    /** A team that reads the workspace. */
    readonly team: Json;
    /** A user with `manage-teams`, and their team's token: neither can read the workspace. */
    readonly attackers: Readonly<Record<"person" | "token", Caller>>;
  }

  async function makeScene(): Promise<Scene> {
    const org = await api.makeOrganization();
    const workspace = await makeRunnable(api, org.name);
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "read");
    const person = await api.makeHolder(org.name, "manage-teams");
    const attackers = { person, token: await api.makeTeamToken(person.teamId) };
    for (const attacker of Object.values(attackers))
      expect((await attacker.get(`/workspaces/${workspace.id}`)).status).toBe(404);
    return { org, workspace, team, attackers };
  }

  const destination = () => ({ enabled: true, url: receiver.url, triggers: ["run:created"] });
  const more = "The team has access that you don't have";

  /** What the receiver gets about a run in the workspace. */
  async function notificationsOfRun({ org, workspace }: Scene): Promise<Json[]> {
    receiver.heard.length = 0;
    await makeRun(org.owner, workspace.id);
    await deliver(api);
    return receiver.heard.map(({ body }) => body);
  }

  it("403: can't add a destination to a team with more access, and nothing is sent", async () => {
    const scene = await makeScene();
    receiver.heard.length = 0;
    for (const attacker of Object.values(scene.attackers)) {
      for (const enabled of [true, false]) {
        const answer = await post(attacker, `/teams/${scene.team.id}`, { ...destination(), enabled });
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain(more);
      }
      const email = { "destination-type": "email", enabled: true, triggers: ["run:created"] };
      expect((await post(attacker, `/teams/${scene.team.id}`, email)).status).toBe(403);
    }
    expect(receiver.heard).toEqual([]);
    expect(await notificationsOfRun(scene)).toEqual([]);
  });

  it("403: can't change, verify or list deliveries of such a team's destination; deleting one is allowed", async () => {
    const scene = await makeScene();
    const { id } = await make(scene.org.owner, `/teams/${scene.team.id}`, { ...destination(), enabled: false });
    const path = `/notification-configurations/${id}`;
    const { person } = scene.attackers;
    for (const attributes of [{ url: `${receiver.url}/evil` }, { enabled: true }, { token: "known" }, { name: "x" }])
      expect((await person.patch(path, resource("notification-configurations", attributes))).status).toBe(403);
    expect((await person.post(`${path}/actions/verify`)).status).toBe(403);
    expect((await person.get(`${path}/deliveries`)).status).toBe(403);
    expect((await scene.org.owner.get(`${path}/deliveries`)).status).toBe(200);
    expect(await notificationsOfRun(scene)).toEqual([]);
    expect((await person.get(path)).status).toBe(200);
    expect((await person.delete(path)).status).toBe(204);
  });

  it("201: can add one to a team without more access, and list its deliveries", async () => {
    const scene = await makeScene();
    const weak = await api.makeTeam(scene.org.name);
    for (const attacker of Object.values(scene.attackers)) {
      const created = await make(attacker, `/teams/${weak.id}`, destination());
      expect((await attacker.get(`/notification-configurations/${created.id}/deliveries`)).status).toBe(200);
    }
    expect(await notificationsOfRun(scene)).toEqual([]);
  });

  it("403: nor to the owners team, nor beyond the expiry of the caller's own access", async () => {
    const scene = await makeScene();
    expect((await post(scene.attackers.person, `/teams/${scene.org.ownersTeamId}`, destination())).status).toBe(403);
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    const { person } = scene.attackers as unknown as { person: { teamId: string } & Caller };
    const record = resource(
      "team-workspaces",
      { access: "read", "expires-at": soon },
      {
        workspace: { data: { type: "workspaces", id: scene.workspace.id } },
        team: { data: { type: "teams", id: person.teamId } },
      },
    );
    data(await api.admin.post("/team-workspaces", record));
    expect((await person.get(`/workspaces/${scene.workspace.id}`)).status).toBe(200);
    expect((await post(person, `/teams/${scene.team.id}`, destination())).status).toBe(403);
  });
});
