/** Runs that an upload queues, with the permissions of the version's creator. */
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { archive } from "../../../support/archives.ts";
import { data, details } from "../../../support/builders.ts";
import { createConfiguration, configurationUrlOf, mainTf } from "../../../support/configurations.ts";
import { put } from "../../../support/states.ts";
import { useStage } from "./support.ts";

const api = useApi();
const stage = useStage(api);
const whole = archive([mainTf]);

const queueing = async (caller: Caller, workspaceId: string, attributes: object = {}): Promise<Json> =>
  data(await createConfiguration(caller, workspaceId, { "auto-queue-runs": true, ...attributes }));

const runsOf = async (workspaceId: string): Promise<Json[]> =>
  data(await api.admin.get(`/workspaces/${workspaceId}/runs`));

describe("auto-queue-runs", () => {
  it("queues a run when the archive is uploaded, and not before", async () => {
    const version = await queueing(stage.owner, stage.workspace.id);
    expect(await runsOf(stage.workspace.id)).toEqual([]);
    expect((await put(configurationUrlOf(version), whole)).status).toBe(200);
    const [run, ...others] = await runsOf(stage.workspace.id);
    expect(others).toEqual([]);
    expect(run.attributes).toMatchObject({
      source: "tfe-configuration-version",
      "trigger-reason": "manual",
      message: "Queued manually via the Terraform Enterprise API",
      "plan-only": false,
      status: "plan_queued",
    });
    expect(run.relationships["configuration-version"].data.id).toBe(version.id);
    expect(run.relationships["created-by"].data.id).toBe(stage.org.owner.id);
    expect((await stage.auditEvents(version.id)).at(-1).after).toMatchObject({ status: "uploaded", run: run.id });
    // Repeating the upload queues no other run.
    expect((await put(configurationUrlOf(version), whole)).status).toBe(200);
    expect(await runsOf(stage.workspace.id)).toHaveLength(1);
  });

  it("queues a plan-only run for a speculative configuration", async () => {
    const version = await queueing(stage.owner, stage.workspace.id, { speculative: true });
    await put(configurationUrlOf(version), whole);
    const { run } = (await stage.auditEvents(version.id)).at(-1).after;
    expect(data(await stage.owner.get(`/runs/${run}`)).attributes["plan-only"]).toBe(true);
  });

  it("queues it in the name of the team whose token created the version", async () => {
    const team = await api.makeTeam(stage.org.name);
    await api.grantWorkspace(stage.workspace.id, team.id, "plan");
    const version = await queueing(await api.makeTeamToken(team.id), stage.workspace.id);
    await put(configurationUrlOf(version), whole);
    expect(await runsOf(stage.workspace.id)).toHaveLength(1);
  });

  it("queues it for a site admin, who is in no team", async () => {
    const version = await queueing(api.admin, stage.workspace.id);
    await put(configurationUrlOf(version), whole);
    expect(await runsOf(stage.workspace.id)).toHaveLength(1);
  });

  it("queues none for a rejected archive", async () => {
    const version = await queueing(stage.owner, stage.workspace.id);
    expect((await put(configurationUrlOf(version), "no archive")).status).toBe(422);
    expect(await runsOf(stage.workspace.id)).toEqual([]);
  });

  it("queues none if it was not requested", async () => {
    const version = await queueing(stage.owner, stage.workspace.id, { "auto-queue-runs": false });
    await put(configurationUrlOf(version), whole);
    expect(await runsOf(stage.workspace.id)).toEqual([]);
  });

  it("queues none for a user who can no longer queue runs: the archive is rejected too", async () => {
    for (const left of [undefined, "read"] as const) {
      const workspace = await api.makeWorkspace(stage.org.name);
      const team = await api.makeTeam(stage.org.name);
      const access = await api.grantWorkspace(workspace.id, team.id, "plan");
      const version = await queueing(await api.makeMember(stage.org.name, [team.id]), workspace.id);
      data(await api.admin.delete(`/team-workspaces/${access}`));
      if (left !== undefined) await api.grantWorkspace(workspace.id, team.id, left);
      const answer = await put(configurationUrlOf(version), whole);
      expect(answer.status).toBe(left === undefined ? 404 : 403);
      expect(details(answer)[0]).toMatch(left === undefined ? /no such workspace/ : /can-queue-run/);
      expect((await stage.show(version.id)).attributes.status).toBe("pending");
      expect(await runsOf(workspace.id)).toEqual([]);
    }
  });

  it("queues none for a revoked token: its upload URL is invalid", async () => {
    const member = await api.makeMember(stage.org.name, [stage.org.ownersTeamId]);
    const version = await queueing(member, stage.workspace.id);
    const [token] = data(await member.get(`/users/${member.id}/authentication-tokens`));
    data(await api.admin.delete(`/authentication-tokens/${token.id}`));
    const answer = await put(configurationUrlOf(version), whole);
    expect(answer.status).toBe(403);
    expect(details(answer)[0]).toContain("expired or was revoked");
    expect((await stage.show(version.id)).attributes.status).toBe("pending");
  });

  it("queues none in a workspace with execution mode local", async () => {
    const workspace = await api.makeWorkspace(stage.org.name, { "execution-mode": "local" });
    const version = await queueing(stage.owner, workspace.id);
    expect((await put(configurationUrlOf(version), whole)).status).toBe(200);
    expect(await runsOf(workspace.id)).toEqual([]);
    expect((await stage.auditEvents(version.id)).at(-1).after.reason).toMatch(/execution mode 'local'/);
  });

  it("queues one for two concurrent uploads", async () => {
    const version = await queueing(stage.owner, stage.workspace.id);
    const sent = [whole, archive([{ ...mainTf, content: "other" }]), whole];
    const answers = await Promise.all(sent.map((bytes) => put(configurationUrlOf(version), bytes)));
    expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect(await runsOf(stage.workspace.id)).toHaveLength(1);
  });
});
