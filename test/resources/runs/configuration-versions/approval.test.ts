/** Configurations that runs apply without a confirmation: only commits, and those that a user who can apply has uploaded or confirmed. */
import { CompiledQuery } from "kysely";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { approvedConfigurations } from "../../../../src/database/migrations/0040-approved-configurations.ts";
import { startDueDestroys } from "../../../../src/resources/runs/auto-destroy/schedule.ts";
import { receiveFetchedArchive } from "../../../../src/resources/runs/configuration-versions/upload.ts";
import { fireTriggers } from "../../../../src/resources/runs/run-triggers/firing.ts";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { archive } from "../../../support/archives.ts";
import { data, type Member, type Org, resource } from "../../../support/builders.ts";
import {
  createConfiguration,
  configurationUrlOf,
  mainTf,
  uploadConfiguration,
  storeCommit,
} from "../../../support/configurations.ts";
import { type Agent, makeAgent, makeSitePool } from "../../../support/agent-callers.ts";
import { makeRun, runBody, showRun } from "../../../support/runs.ts";
import { put, jobContextOf } from "../../../support/states.ts";

const api = useApi();
let org: Org;
let agent: Agent;
let source: Json;
let target: Json;
let team: Json;
let grantId: string;
let planner: Member;

const remote = { "execution-mode": "remote", "terraform-version": "1.9.5" };

beforeAll(async () => {
  org = await api.makeOrganization();
  agent = await makeAgent(api, await makeSitePool(api));
});

beforeEach(async () => {
  source = await api.makeWorkspace(org.name, remote);
  target = await api.makeWorkspace(org.name, { ...remote, "auto-apply-run-trigger": true });
  const sourceable = { data: { type: "workspaces", id: source.id } };
  data(await org.owner.post(`/workspaces/${target.id}/run-triggers`, resource("run-triggers", {}, { sourceable })));
  await uploadConfiguration(org.owner, source.id);
  team = await api.makeTeam(org.name);
  grantId = (await api.makeTeamWorkspace(target.id, team.id, { access: "plan" })).id;
  planner = await api.makeMember(org.name, [team.id]);
});

const setAccess = async (access: string) =>
  data(await api.admin.patch(`/team-workspaces/${grantId}`, resource("team-workspaces", { access })));

/** Executes the queued plan, and the apply if it follows without a confirmation. */
async function execute(hasChanges = true): Promise<void> {
  const plan = await agent.job();
  expect((await plan.act("finish", { result: "finished", "has-changes": hasChanges })).status).toBe(204);
  const claim = await agent.claim();
  if (claim.status === 200) {
    const { id, attributes } = claim.body.data;
    const body = { attempt: attributes.attempt, result: "finished" };
    expect((await agent.post(`/agent-jobs/${id}/actions/finish`, body)).status).toBe(204);
  }
}

const latestRun = async (workspaceId: string): Promise<Json> =>
  data(await org.owner.get(`/workspaces/${workspaceId}/runs`))[0];

/** The run that an apply of the source starts in the target, once its plan has ended. */
async function triggered(): Promise<Json> {
  await makeRun(org.owner, source.id, { "auto-apply": true });
  await execute();
  expect(await fireTriggers(jobContextOf(api))).toBe(1);
  await execute();
  return latestRun(target.id);
}

/** The run that the schedule starts in the target, once its plan has ended. */
async function destroyed(): Promise<Json> {
  const at = new Date(Date.now() + 3_600_000).toISOString();
  data(await org.owner.patch(`/workspaces/${target.id}`, resource("workspaces", { "auto-destroy-at": at })));
  const due = new Date(Date.now() - 1000).toISOString();
  await api.database.write((tx) =>
    tx.db.updateTable("workspaces").set({ autoDestroyAt: due }).where("id", "=", target.id).execute(),
  );
  await startDueDestroys(jobContextOf(api));
  await execute();
  return latestRun(target.id);
}

/** A run of the owner with auto-apply. */
async function automatic(configurationVersionId?: string, attributes: object = { "auto-apply": true }): Promise<Json> {
  const { id } = data(await org.owner.post("/runs", runBody(target.id, attributes, configurationVersionId)));
  await execute(attributes !== emptyApply);
  return showRun(org.owner, id);
}
const emptyApply = { "allow-empty-apply": true };

function expectWaiting(run: Json, configurationId: string): void {
  expect(run.attributes.status).toBe("planned");
  expect(run.attributes.actions["is-confirmable"]).toBe(true);
  expect(run.attributes["waiting-for"]).toContain("confirmation");
  expect(run.attributes["waiting-for"]).toContain(configurationId);
}

async function confirm(run: Json, caller: Caller = org.owner): Promise<void> {
  expect((await caller.post(`/runs/${run.id}/actions/apply`)).status).toBe(202);
  const apply = await agent.job();
  await apply.act("finish", { result: "finished" });
}

describe("a configuration that a planner uploaded", () => {
  it("waits for a confirmation in a run that a trigger starts, and is approved by it", async () => {
    const { id } = await uploadConfiguration(planner, target.id);
    const run = await triggered();
    expect(run.attributes["trigger-reason"]).toBe("run_trigger");
    expectWaiting(run, id);
    expect((await planner.post(`/runs/${run.id}/actions/apply`)).status).toBe(404);
    await confirm(run);
    expect((await showRun(org.owner, run.id)).attributes).toMatchObject({ status: "applied", "waiting-for": null });
    expect((await triggered()).attributes.status).toBe("applied");
  });

  it("waits for a confirmation in a scheduled destroy", async () => {
    const { id } = await uploadConfiguration(planner, target.id);
    const run = await destroyed();
    expect(run.attributes["trigger-reason"]).toBe("auto_destroy");
    expectWaiting(run, id);
    expect(data(await org.owner.get(`/workspaces/${target.id}`)).attributes["auto-destroy-status"]).toBe("queued");
  });

  it("waits for a confirmation in a run of a user who can apply, named or not, also with an empty apply", async () => {
    const { id } = await uploadConfiguration(planner, target.id);
    for (const start of [() => automatic(), () => automatic(id), () => automatic(undefined, emptyApply)]) {
      const run = await start();
      expectWaiting(run, id);
      await org.owner.post(`/runs/${run.id}/actions/discard`);
    }
  });

  it("is not approved if a user discards the run, comments on it, or confirms another configuration", async () => {
    const earlier = await automatic((await uploadConfiguration(org.owner, target.id)).id, {});
    await confirm(earlier);
    const { id } = await uploadConfiguration(planner, target.id);
    const run = await triggered();
    await org.owner.post(`/runs/${run.id}/comments`, resource("comments", { body: "fine" }));
    await org.owner.post(`/runs/${run.id}/actions/discard`);
    expectWaiting(await triggered(), id);
  });

  it.each([
    { "target-addrs": ["null_resource.harmless"] },
    { "refresh-only": true },
    { variables: [{ key: "harmful", value: "false" }] },
  ])("is not approved by the confirmation of a run that shows only a part of it: %j", async (attributes) => {
    const { id } = await uploadConfiguration(planner, target.id);
    const run = await makeRun(planner, target.id, attributes);
    await execute();
    await confirm(run);
    expect((await showRun(org.owner, run.id)).attributes.status).toBe("applied");
    expectWaiting(await triggered(), id);
  });

  it("is not approved by the confirmation of a destroy", async () => {
    const { id } = await uploadConfiguration(planner, target.id);
    await confirm(await destroyed());
    expectWaiting(await triggered(), id);
  });

  it("is not approved by a confirmation in another workspace, where the planner can apply", async () => {
    const { id } = await uploadConfiguration(planner, target.id);
    const own = await api.makeWorkspace(org.name, remote);
    await api.makeTeamWorkspace(own.id, team.id, { access: "write" });
    const promoted = data(await planner.post("/runs", runBody(own.id, {}, id)));
    await execute();
    await confirm(promoted, planner);
    expectWaiting(await triggered(), id);
  });
});

describe("a planner's run", () => {
  it("is not applied without a confirmation, in any way", async () => {
    await uploadConfiguration(org.owner, target.id);
    for (const attributes of [{ "auto-apply": true }, emptyApply, { ...emptyApply, "auto-apply": true }]) {
      const { id } = await makeRun(planner, target.id, attributes);
      await execute(attributes !== emptyApply);
      expect((await showRun(planner, id)).attributes.status, JSON.stringify(attributes)).toBe("planned");
      await org.owner.post(`/runs/${id}/actions/discard`);
    }
  });

  it("is applied without changes once it is confirmed, and has a waiting-for until then", async () => {
    await uploadConfiguration(org.owner, target.id);
    const { id } = await makeRun(planner, target.id, emptyApply);
    await execute(false);
    const run = await showRun(planner, id);
    expect(run.attributes["waiting-for"]).toContain("confirmation");
    await confirm(run);
    expect((await showRun(org.owner, id)).attributes.status).toBe("applied");
  });
});

describe("a configuration is approved", () => {
  it("if a user who can apply uploaded it: a user, a team, a site admin", async () => {
    const writers = await api.makeTeam(org.name);
    await api.makeTeamWorkspace(target.id, writers.id, { access: "write" });
    for (const caller of [org.owner, await api.makeTeamToken(writers.id), api.admin]) {
      await uploadConfiguration(caller, target.id);
      expect((await triggered()).attributes.status).toBe("applied");
    }
    expect((await automatic(undefined, emptyApply)).attributes.status).toBe("applied");
  });

  it("if version control fetched it", async () => {
    const { id } = await storeCommit(api, { id: target.id, organizationId: org.id });
    await receiveFetchedArchive(jobContextOf(api), id, streamOf(archive([mainTf])));
    expect((await triggered()).attributes.status).toBe("applied");
  });

  it("permanently: also when the uploader can no longer apply", async () => {
    await setAccess("write");
    await uploadConfiguration(planner, target.id);
    await setAccess("plan");
    expect((await triggered()).attributes.status).toBe("applied");
  });

  it("by the uploader's permissions when the archive arrives", async () => {
    await setAccess("write");
    const version = data(await createConfiguration(planner, target.id));
    await setAccess("plan");
    expect((await put(configurationUrlOf(version), archive([mainTf]))).status).toBe(200);
    expectWaiting(await triggered(), version.id);
  });

  it("no longer once its archive is replaced by a user who can no longer apply", async () => {
    await setAccess("write");
    const version = data(await createConfiguration(planner, target.id));
    expect((await put(configurationUrlOf(version), archive([mainTf]))).status).toBe(200);
    await setAccess("plan");
    const other = archive([{ ...mainTf, content: "# another\n" }]);
    expect((await put(configurationUrlOf(version), other)).status).toBe(200);
    expectWaiting(await triggered(), version.id);
  });
});

describe("configurations from before approvals", () => {
  const approved = async (): Promise<(string | null)[]> => {
    const rows = await api.database.reader.db
      .selectFrom("configurationVersions")
      .select("approvedAt")
      .where("workspaceId", "=", target.id)
      .orderBy("position")
      .execute();
    return rows.map(({ approvedAt }) => approvedAt && "approved");
  };

  it("are approved by a commit, a confirmation, or their uploader's own automatic run, and by nothing else", async () => {
    await uploadConfiguration(planner, target.id);
    await automatic(undefined, {});
    await org.owner.post(`/runs/${(await latestRun(target.id)).id}/actions/discard`);
    await uploadConfiguration(planner, target.id);
    await confirm(await automatic(undefined, {}));
    await uploadConfiguration(planner, target.id);
    await org.owner.post(`/runs/${(await automatic()).id}/actions/discard`);
    await uploadConfiguration(org.owner, target.id);
    await automatic();
    await uploadConfiguration(org.owner, target.id);
    const commit = await storeCommit(api, { id: target.id, organizationId: org.id });
    await receiveFetchedArchive(jobContextOf(api), commit.id, streamOf(archive([mainTf])));
    await api.database.write(async (tx) => {
      await tx.db.updateTable("configurationVersions").set({ approvedAt: null }).execute();
      for (const statement of approvedConfigurations.statements)
        if (statement.startsWith("UPDATE")) await tx.db.executeQuery(CompiledQuery.raw(statement));
    });
    expect(await approved()).toEqual([null, "approved", null, "approved", null, "approved"]);
  });
});

async function* streamOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
