/** Run triggers: who can create them, and the runs that an apply starts. */
import { beforeAll, describe, expect, it } from "vitest";
import { fireTriggers } from "../../../../src/resources/runs/run-triggers/firing.ts";
import type { Answer, Caller, Json } from "../../../support/api.ts";
import { useApi } from "../../../support/api.ts";
import { data, details, type Org, pointers, resource } from "../../../support/builders.ts";
import { applyTransition, makeRun, makeRunnable } from "../../../support/runs.ts";
import { jobContextOf } from "../../../support/states.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();
let org: Org;

beforeAll(async () => {
  org = await api.makeOrganization();
});

const follow = (caller: Caller, workspaceId: string, sourceId: string | null): Promise<Answer> =>
  caller.post(
    `/workspaces/${workspaceId}/run-triggers`,
    resource("run-triggers", {}, { sourceable: { data: sourceId && { type: "workspaces", id: sourceId } } }),
  );
const following = async (workspace: Json, source: Json): Promise<Json> =>
  data(await follow(org.owner, workspace.id, source.id));
const list = (caller: Caller, workspaceId: string, query: string): Promise<Answer> =>
  caller.get(`/workspaces/${workspaceId}/run-triggers${query}`);
const inbound = "?filter[run-trigger][type]=inbound";
const outbound = "?filter[run-trigger][type]=outbound";

/** Applies a new run of a workspace, and runs the job. */
async function apply(workspaceId: string): Promise<string> {
  const run = await makeRun(org.owner, workspaceId, { "auto-apply": true });
  await finish(run.id);
  return run.id;
}
async function finish(runId: string): Promise<void> {
  await applyTransition(api, runId, { event: "claim" });
  await applyTransition(api, runId, { event: "phase-finished", hasChanges: true });
  await applyTransition(api, runId, { event: "claim" });
  await applyTransition(api, runId, { event: "phase-finished" });
}
const fire = (): Promise<number> => fireTriggers(jobContextOf(api));
const runsOf = async (workspaceId: string): Promise<Json[]> =>
  (await org.owner.get(`/workspaces/${workspaceId}/runs`)).body.data;
const triggerEventsOf = async (runId: string): Promise<[string, string][]> =>
  (await org.owner.get(`/runs/${runId}/run-events`)).body.data
    .map(({ attributes }: Json) => [attributes.action, attributes.description])
    .filter(([action]: [string]) => action.includes("trigger"));

describe("createRunTrigger", () => {
  it("201: names both workspaces, and writes an audit event", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const answer = await follow(org.owner, workspace.id, source.id);
    expect(answer.status).toBe(201);
    const trigger = data(answer);
    expect(trigger).toMatchObject({
      type: "run-triggers",
      attributes: {
        "workspace-name": workspace.attributes.name,
        "sourceable-name": source.attributes.name,
        "created-at": expect.stringMatching(/^\d{4}-/),
      },
      relationships: {
        workspace: { data: { type: "workspaces", id: workspace.id } },
        sourceable: { data: { type: "workspaces", id: source.id } },
      },
      links: { self: `/api/v2/run-triggers/${trigger.id}` },
    });
    expect(data(await org.owner.get(`/run-triggers/${trigger.id}`))).toEqual(trigger);
    const auditEvents = await api.database.reader.db
      .selectFrom("auditEvents")
      .selectAll()
      .where("subjectId", "=", trigger.id)
      .execute();
    expect(auditEvents).toMatchObject([{ action: "run-triggers.create" }]);
    expect(JSON.parse(auditEvents[0]?.after ?? "")).toMatchObject({ sourceable: source.id, workspace: workspace.id });
  });

  it("422: itself, the same source twice, no source, an unknown source, or one of another organization", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const other = await api.makeOrganization();
    const foreign = await api.makeWorkspace(other.name);
    await following(workspace, source);
    for (const [id, sentence] of [
      [workspace.id, "Sourceable can't be the workspace itself"],
      [source.id, "Sourceable has already been taken"],
      ["ws-none", "Sourceable does not exist in this organization, or you can't read its runs"],
      [foreign.id, "Sourceable does not exist in this organization, or you can't read its runs"],
    ]) {
      const answer = await follow(org.owner, workspace.id, id);
      expect([answer.status, details(answer), pointers(answer)]).toEqual([
        422,
        [sentence],
        ["/data/relationships/sourceable"],
      ]);
    }
    expect((await follow(api.admin, workspace.id, foreign.id)).status).toBe(422);
    expect((await follow(org.owner, workspace.id, null)).status).toBe(422);
  });

  it("422: more than 20 sources", async () => {
    const workspace = await api.makeWorkspace(org.name);
    for (let count = 0; count < 20; count += 1) await following(workspace, await api.makeWorkspace(org.name));
    const answer = await follow(org.owner, workspace.id, (await api.makeWorkspace(org.name)).id);
    expect([answer.status, details(answer)]).toEqual([
      422,
      ["Sourceable can't be added: a workspace can have at most 20 sources"],
    ]);
    const shown = await list(org.owner, workspace.id, `${inbound}&page[size]=15`);
    expect(shown.body.data).toHaveLength(15);
    expect(shown.body.meta.pagination["total-count"]).toBe(20);
  });

  it("403: a caller with write access; 422: an admin who can't read the source", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const [writers, admins] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    await api.grantWorkspace(workspace.id, writers.id, "write");
    await api.grantWorkspace(source.id, writers.id, "read");
    await api.grantWorkspace(workspace.id, admins.id, "admin");
    const [writer, admin] = [await api.makeMember(org.name, [writers.id]), await api.makeMember(org.name, [admins.id])];
    expect((await follow(writer, workspace.id, source.id)).status).toBe(403);
    expect((await follow(admin, workspace.id, source.id)).status).toBe(422);
    expect((await follow(admin, source.id, workspace.id)).status).toBe(404);
  });
});

describe("listRunTriggers, showRunTrigger, deleteRunTrigger", () => {
  it("lists inbound and outbound triggers, newest first, and includes workspaces", async () => {
    const [a, b, c] = [
      await api.makeWorkspace(org.name),
      await api.makeWorkspace(org.name),
      await api.makeWorkspace(org.name),
    ];
    const [first, second] = [await following(a, b), await following(a, c)];
    await following(b, c);
    const ids = async (workspace: Json, query: string) =>
      (await list(org.owner, workspace.id, query)).body.data.map(({ id }: Json) => id).toSorted();
    expect(await ids(a, inbound)).toEqual([first.id, second.id].toSorted());
    expect(await ids(a, outbound)).toEqual([]);
    expect(await ids(b, outbound)).toEqual([first.id]);
    expect(await ids(c, outbound)).toHaveLength(2);
    const { body } = await list(org.owner, a.id, `${inbound}&include=workspace,sourceable`);
    expect(body.included.map(({ id }: Json) => id).toSorted()).toEqual([a.id, b.id, c.id].toSorted());
    const shown = await org.owner.get(`/run-triggers/${first.id}?include=sourceable`);
    expect(shown.body.included).toMatchObject([{ type: "workspaces", id: b.id }]);
  });

  it("400: without the type, with an invalid type, and with an include for outbound triggers", async () => {
    const { id } = await api.makeWorkspace(org.name);
    for (const query of ["", "?filter[run-trigger][type]=", "?filter[run-trigger][type]=sideways"]) {
      const answer = await list(org.owner, id, query);
      expect([answer.status, pointers(answer)]).toEqual([400, ["filter[run-trigger][type]"]]);
    }
    const answer = await list(org.owner, id, `${outbound}&include=workspace`);
    expect([answer.status, details(answer)]).toEqual([
      400,
      ["include can only be used with filter[run-trigger][type]=inbound"],
    ]);
  });

  it("shows readers the trigger, and those of its workspaces that they can read", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const trigger = await following(workspace, source);
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, "read");
    const [reader, stranger] = [await api.makeMember(org.name, [team.id]), await api.makeMember(org.name)];
    const shown = await reader.get(`/run-triggers/${trigger.id}?include=workspace,sourceable`);
    expect(shown.body.included.map(({ id }: Json) => id)).toEqual([workspace.id]);
    expect((await reader.delete(`/run-triggers/${trigger.id}`)).status).toBe(403);
    expect((await stranger.get(`/run-triggers/${trigger.id}`)).status).toBe(404);
    expect((await stranger.delete(`/run-triggers/${trigger.id}`)).status).toBe(404);
  });

  it("names only the workspaces that the caller reads, from either end", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const trigger = await following(workspace, source);
    const readerOf = async ({ id }: Json, access: "read" | "admin") => {
      const team = await api.makeTeam(org.name);
      await api.grantWorkspace(id, team.id, access);
      return api.makeMember(org.name, [team.id]);
    };
    const [admin, above] = [await readerOf(workspace, "admin"), await readerOf(source, "read")];
    const [shown, coming, going] = [
      data(await admin.get(`/run-triggers/${trigger.id}`)),
      data(await list(admin, workspace.id, inbound))[0],
      data(await list(above, source.id, outbound))[0],
    ];
    for (const each of [shown, coming]) {
      expect(each.attributes).toMatchObject({ "workspace-name": workspace.attributes.name, "sourceable-name": null });
      expect(each.relationships.sourceable.data.id).toBe(source.id);
    }
    expect(going.attributes).toMatchObject({ "workspace-name": null, "sourceable-name": source.attributes.name });
    expect((await above.get(`/run-triggers/${trigger.id}`)).status).toBe(404);
    expect((await admin.delete(`/run-triggers/${trigger.id}`)).status).toBe(204);
  });

  it("204: deleted, with an audit event; 412 if it was read before a rename", async () => {
    const [workspace, source] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
    const trigger = await following(workspace, source);
    const etag = (await org.owner.get(`/run-triggers/${trigger.id}`)).headers.get("etag") ?? "";
    await org.owner.patch(`/workspaces/${source.id}`, resource("workspaces", { name: `${source.attributes.name}-2` }));
    const path = `/run-triggers/${trigger.id}`;
    expect((await org.owner.delete(path, undefined, { "if-match": etag })).status).toBe(412);
    expect((await org.owner.delete(path)).status).toBe(204);
    expect((await org.owner.get(path)).status).toBe(404);
    expect((await org.owner.delete(path)).status).toBe(404);
  });

  it("is deleted with either workspace", async () => {
    const [a, b, c] = [
      await api.makeWorkspace(org.name),
      await api.makeWorkspace(org.name),
      await api.makeWorkspace(org.name),
    ];
    const [one, two] = [await following(a, b), await following(b, c)];
    expect((await org.owner.delete(`/workspaces/${b.id}`)).status).toBe(204);
    for (const { id } of [one, two]) expect((await org.owner.get(`/run-triggers/${id}`)).status).toBe(404);
  });
});

describe("an apply", () => {
  it("starts exactly one run in each target workspace, with a run event", async () => {
    const [source, one, two] = [
      await makeRunnable(api, org.name),
      await makeRunnable(api, org.name),
      await makeRunnable(api, org.name, { "auto-apply": true, "auto-apply-run-trigger": true }),
    ];
    await following(one, source);
    await following(two, source);
    const cause = await apply(source.id);
    expect(await runsOf(one.id)).toEqual([]);
    expect(await fire()).toBe(1);
    expect(await fire()).toBe(0);
    const [inOne, inTwo] = [await runsOf(one.id), await runsOf(two.id)];
    expect([inOne.length, inTwo.length]).toEqual([1, 1]);
    expect(inOne[0]).toMatchObject({
      attributes: {
        status: "plan_queued",
        source: "tfe-run-trigger",
        "trigger-reason": "run_trigger",
        "auto-apply": false,
        message: `Started by the apply of ${cause}`,
      },
      relationships: { "created-by": { data: null } },
    });
    expect(inTwo[0].attributes["auto-apply"]).toBe(true);
    expect((await triggerEventsOf(cause)).toSorted()).toEqual(
      [
        ["triggered", `Started ${inOne[0].id}.`],
        ["triggered", `Started ${inTwo[0].id}.`],
      ].toSorted(),
    );
  });

  it("is named in the run that it starts, for callers who can read its workspace", async () => {
    const [source, target] = [await makeRunnable(api, org.name), await makeRunnable(api, org.name)];
    await following(target, source);
    const cause = await apply(source.id);
    await fire();
    const [team, both] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    for (const { id } of [team, both]) await api.grantWorkspace(target.id, id, "read");
    await api.grantWorkspace(source.id, both.id, "read");
    const [{ id }] = await runsOf(target.id);
    const nameFor = async (caller: Caller) =>
      data(await caller.get(`/runs/${id}`)).attributes["triggering-source-name"];
    expect(await nameFor(org.owner)).toBe(source.attributes.name);
    expect(await nameFor(await api.makeMember(org.name, [both.id]))).toBe(source.attributes.name);
    expect(await nameFor(await api.makeMember(org.name, [team.id]))).toBeNull();
    const { attributes } = data(await org.owner.get(`/runs/${cause}`));
    expect(attributes["triggering-source-name"]).toBeNull();
    expect(attributes["updated-at"]).toBe(attributes["status-timestamps"]["applied-at"]);
  });

  it("only uses auto-apply-run-trigger, not the workspace's auto-apply", async () => {
    const [source, target] = [
      await makeRunnable(api, org.name),
      await makeRunnable(api, org.name, { "auto-apply": true }),
    ];
    await following(target, source);
    await apply(source.id);
    await fire();
    expect((await runsOf(target.id))[0].attributes["auto-apply"]).toBe(false);
  });

  it("starts none without a configuration or in execution mode local, with the reason", async () => {
    const [source, empty, local] = [
      await makeRunnable(api, org.name),
      await api.makeWorkspace(org.name, { "execution-mode": "remote" }),
      await makeRunnable(api, org.name, { "execution-mode": "local" }),
    ];
    await following(empty, source);
    await following(local, source);
    const cause = await apply(source.id);
    expect(await fire()).toBe(1);
    expect(await runsOf(empty.id)).toEqual([]);
    expect(await runsOf(local.id)).toEqual([]);
    const events = await triggerEventsOf(cause);
    expect(events.map(([action]) => action)).toEqual(["not_triggered", "not_triggered"]);
    const sentences = events.map(([, description]) => description).join("\n");
    expect(sentences).toContain(
      `No run was started in the workspace ${empty.id}: Configuration version is missing, and the workspace has none yet. Upload one first.`,
    );
    expect(sentences).toContain(`${local.id}: Workspace has the execution mode 'local'`);
  });

  it("starts none for a run that was not applied, nor after the trigger was deleted", async () => {
    const [source, target] = [await makeRunnable(api, org.name), await makeRunnable(api, org.name)];
    const trigger = await following(target, source);
    const run = await makeRun(org.owner, source.id);
    await applyTransition(api, run.id, { event: "claim" });
    await applyTransition(api, run.id, { event: "phase-finished", hasChanges: false });
    expect(await fire()).toBe(0);
    await apply(source.id);
    await org.owner.delete(`/run-triggers/${trigger.id}`);
    expect(await fire()).toBe(1);
    expect(await runsOf(target.id)).toEqual([]);
  });

  itInGate("continues from workspace to workspace, and stops a cycle after 20 runs with an event", async () => {
    const [a, b] = [
      await makeRunnable(api, org.name, { "auto-apply-run-trigger": true }),
      await makeRunnable(api, org.name, { "auto-apply-run-trigger": true }),
    ];
    await following(a, b);
    await following(b, a);
    let last = await apply(a.id);
    for (let step = 1; step <= 20; step += 1) {
      expect(await fire()).toBe(1);
      const [caused] = await runsOf(step % 2 === 1 ? b.id : a.id);
      expect(caused.id).not.toBe(last);
      last = caused.id;
      await finish(last);
    }
    const before = (await runsOf(b.id)).length;
    expect(await fire()).toBe(1);
    expect((await runsOf(b.id)).length).toBe(before);
    expect(await triggerEventsOf(last)).toEqual([
      [
        "not_triggered",
        `No run was started in the workspace ${b.id}: this run is the end of a chain of 20 other runs, and longer chains are not allowed.`,
      ],
    ]);
  });
});
