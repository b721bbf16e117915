/** Audit events of workspaces: one with before and after for each change, none for a refused one. */
import { sql } from "kysely";
import { beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { bothPaths, makeAgentPool, makeSshKey, pathById, pathByName, setColumns, tagged } from "./support.ts";

const api = useApi();
let org: Org;
beforeEach(async () => {
  org = await api.makeOrganization();
});

const countAll = async (): Promise<number> => {
  const [row] = await api.database.reader.db
    .selectFrom("auditEvents")
    .select(sql<number>`count(*)`.as("count"))
    .execute();
  return Number(row?.count);
};

/** Performs a successful action and returns its only audit event. */
async function eventOf(work: () => Promise<Answer>): Promise<{ answer: Answer; event: Json }> {
  const before = await countAll();
  const answer = await work();
  data(answer);
  expect(await countAll()).toBe(before + 1);
  const requestId = answer.headers.get("x-request-id");
  const newest = data(await api.admin.get(`/organizations/${org.name}/audit-events?page[size]=5`));
  const events = newest.filter((event: Json) => event.attributes["request-id"] === requestId);
  expect(events).toHaveLength(1);
  return { answer, event: events[0].attributes };
}

/** The attributes that are audited: not those that depend on the caller or the time, or are derived from others. */
function auditedAttributes({ attributes }: Json): Json {
  const left = [
    "permissions",
    "actions",
    "auto-destroy-status",
    "updated-at",
    "latest-change-at",
    "last-assessment-result-at",
    "environment",
    "operations",
    "oauth-client-name",
    "vcs-repo-identifier",
    "apply-duration-average",
    "plan-duration-average",
    "policy-check-failures",
    "run-failures",
    "workspace-kpis-runs-count",
    "resource-count",
  ];
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !left.includes(name)));
}
const linked = ({ relationships }: Json) => ({
  project: relationships.project.data.id,
  "agent-pool": relationships["agent-pool"].data?.id ?? null,
});

describe("one event each", () => {
  it("createWorkspace records workspaces.create with the whole workspace", async () => {
    const body = resource("workspaces", { name: unique("ws"), description: "d" }, tagged("b", "a"));
    const { answer, event } = await eventOf(() => org.owner.post(`/organizations/${org.name}/workspaces`, body));
    expect(event).toMatchObject({
      action: "workspaces.create",
      "actor-kind": "user",
      "actor-id": org.owner.id,
      "subject-type": "workspaces",
      "subject-id": answer.body.data.id,
      before: null,
    });
    expect(event.after).toMatchObject({ ...auditedAttributes(answer.body.data), ...linked(answer.body.data) });
    expect(event.after["tag-names"]).toEqual(["a", "b"]);
  });

  it.each(bothPaths)("updateWorkspace %s records workspaces.update with before and after", async (_, pathOf) => {
    const workspace = await api.makeWorkspace(org.name, { description: "old" });
    const change = resource("workspaces", { description: null, "auto-apply": true, name: unique("new") });
    const { answer, event } = await eventOf(() => org.owner.patch(pathOf(workspace), change));
    expect(event).toMatchObject({ action: "workspaces.update", "subject-id": workspace.id });
    expect(event.before).toMatchObject(auditedAttributes(workspace));
    expect(event.after).toMatchObject(auditedAttributes(answer.body.data));
    expect(event.after).toMatchObject({ description: null, "auto-apply": true });
  });

  it("a move names both projects", async () => {
    const [from, to] = [await api.makeProject(org.name), await api.makeProject(org.name)];
    const workspace = await api.makeWorkspace(org.name, {}, inProject(from.id));
    const move = resource("workspaces", {}, inProject(to.id));
    const { event } = await eventOf(() => org.owner.patch(pathById(workspace), move));
    expect([event.before.project, event.after.project]).toEqual([from.id, to.id]);
  });

  it("a change of the agent pool is recorded", async () => {
    const [from, to] = [await makeAgentPool(api, org.name), await makeAgentPool(api, org.name)];
    const workspace = await api.makeWorkspace(org.name, { "execution-mode": "agent", "agent-pool-id": from });
    const change = resource("workspaces", { "agent-pool-id": to });
    const { event } = await eventOf(() => org.owner.patch(pathById(workspace), change));
    expect([event.before["agent-pool"], event.after["agent-pool"]]).toEqual([from, to]);
  });

  it.each<[string, (workspace: Json) => Promise<Answer>]>([
    ["deleteWorkspace", (workspace) => org.owner.delete(pathById(workspace))],
    ["deleteWorkspaceByName", (workspace) => org.owner.delete(pathByName(workspace))],
    ["safeDeleteWorkspace", (workspace) => org.owner.post(`${pathById(workspace)}/actions/safe-delete`)],
    ["safeDeleteWorkspaceByName", (workspace) => org.owner.post(`${pathByName(workspace)}/actions/safe-delete`)],
  ])("%s leaves workspaces.delete with what there was", async (_, remove) => {
    const workspace = await api.makeWorkspace(org.name, {}, tagged("a"));
    const { event } = await eventOf(() => remove(workspace));
    expect(event).toMatchObject({ action: "workspaces.delete", "subject-id": workspace.id, after: null });
    expect(event.before).toMatchObject({ ...auditedAttributes(workspace), ...linked(workspace) });
  });

  it("lock, unlock and force-unlock record the holder and the reason", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const act = (action: string, body?: object) => org.owner.post(`${pathById(workspace)}/actions/${action}`, body);
    const free = { locked: false, "locked-by": null, reason: null };
    const held = { locked: true, "locked-by": org.owner.id, reason: "why" };
    const locked = (await eventOf(() => act("lock", { reason: "why" }))).event;
    expect(locked).toMatchObject({ action: "workspaces.lock", "subject-id": workspace.id, before: free, after: held });
    const unlocked = (await eventOf(() => act("unlock"))).event;
    expect(unlocked).toMatchObject({ action: "workspaces.unlock", before: held, after: free });
    data(await act("lock", { reason: "why" }));
    const forced = (await eventOf(() => act("force-unlock"))).event;
    expect(forced).toMatchObject({ action: "workspaces.force-unlock", before: held, after: free });
  });

  it("assignSshKey records both keys", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const key = await makeSshKey(api, org.name);
    const assign = (id: string | null) =>
      org.owner.patch(`${pathById(workspace)}/relationships/ssh-key`, resource("workspaces", { id }));
    expect((await eventOf(() => assign(key))).event).toMatchObject({
      action: "workspaces.assign-ssh-key",
      "subject-id": workspace.id,
      before: { "ssh-key": null },
      after: { "ssh-key": key },
    });
    expect((await eventOf(() => assign(null))).event).toMatchObject({
      before: { "ssh-key": key },
      after: { "ssh-key": null },
    });
  });

  it("a team's token is named as the team", async () => {
    const token = await api.makeTeamToken(org.ownersTeamId);
    const workspace = await api.makeWorkspace(org.name);
    const { event } = await eventOf(() => token.post(`${pathById(workspace)}/actions/lock`));
    expect(event).toMatchObject({ "actor-kind": "team", "actor-id": org.ownersTeamId });
    expect(event.after["locked-by"]).toBe(org.ownersTeamId);
  });
});

describe("no event is recorded by", () => {
  it("reading, and an update that changes nothing", async () => {
    const workspace = await api.makeWorkspace(org.name);
    const before = await countAll();
    data(await org.owner.patch(pathById(workspace), resource("workspaces", { name: workspace.attributes.name })));
    const none = resource("workspaces", { id: null });
    data(await org.owner.patch(`${pathById(workspace)}/relationships/ssh-key`, none));
    data(await org.owner.get(pathById(workspace)));
    data(await org.owner.get(`/organizations/${org.name}/workspaces?include=project`));
    expect(await countAll()).toBe(before);
  });

  it("a refused request, which changes nothing else either", async () => {
    const workspace = await api.makeWorkspace(org.name);
    await setColumns(api, workspace.id, { resourceCount: 1 });
    const [member, stranger] = [await api.makeMember(org.name), await api.makeUser()];
    const shown = data(await org.owner.get(pathById(workspace)));
    const before = await countAll();
    const path = pathById(workspace);
    const change = resource("workspaces", { description: "x" });
    const tags = {
      tags: {
        data: [
          { type: "tags", attributes: { name: "left" } },
          { type: "tags", id: "tag-unknown" },
        ],
      },
    };
    const answers = [
      await api.nobody.delete(path),
      await stranger.patch(path, change),
      await member.delete(path),
      await org.owner.patch(path, change, { "if-match": '"x"' }),
      await org.owner.post(`${path}/actions/unlock`),
      await org.owner.post(`${path}/actions/force-unlock`),
      await org.owner.post(`${path}/actions/safe-delete`),
      await org.owner.patch(path, resource("workspaces", { description: "x" }, inProject("prj-unknown"))),
      await org.owner.post(
        `/organizations/${org.name}/workspaces`,
        resource("workspaces", { name: workspace.attributes.name }),
      ),
      await org.owner.post(`/organizations/${org.name}/workspaces`, resource("workspaces", { name: "half" }, tags)),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 404, 412, 409, 409, 409, 422, 422, 422]);
    expect(await countAll()).toBe(before);
    expect(data(await org.owner.get(path))).toEqual(shown);
    expect(data(await org.owner.get(`/organizations/${org.name}/tags`))).toEqual([]);
    expect((await org.owner.get(`/organizations/${org.name}/workspaces/half`)).status).toBe(404);
    const project = data(await org.owner.get(`/projects/${org.defaultProjectId}`));
    expect(project.attributes["workspace-count"]).toBe(1);
  });
});
