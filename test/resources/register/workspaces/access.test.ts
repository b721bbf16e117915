/** Who may do what to a workspace: every kind of caller against every operation. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  makeMember,
  makeOrganization,
  makeProject,
  makeUser,
  makeWorkspace,
  type Org,
  resource,
  unique,
} from "../../../support/builders.ts";
import { callers } from "./callers.ts";
import { makeSshKey, pathById, pathByName, setColumns } from "./support.ts";

const api = useApi();
let org: Org;
let sshKey: string;
beforeAll(async () => {
  org = await makeOrganization(api);
  sshKey = await makeSshKey(api, org.name);
});

describe.each(callers)("%s", (_, makeCaller, expected) => {
  let caller: Caller;
  let workspace: Json;
  let projectId: string;
  beforeAll(async () => {
    projectId = (await makeProject(api, org.name)).id;
    workspace = await makeWorkspace(api, org.name, {}, inProject(projectId));
    caller = await makeCaller(api, org, workspace);
  });
  /** As it is in the register. */
  const shown = async () => data(await api.admin.get(pathById(workspace)));
  const isThere = async () => (await api.admin.get(pathById(workspace))).status === 200;
  const lockedByWhom = async (): Promise<object> => {
    const account = data(await caller.get("/account/details"));
    const isTeam = account.id.startsWith("team-");
    return { lockedByType: isTeam ? "teams" : "users", lockedById: account.id, lockedByName: "x", lockedReason: "" };
  };

  it(`showWorkspace, by id and by name: ${expected.show}`, async () => {
    for (const path of [pathById(workspace), pathByName(workspace)]) {
      const answer = await caller.get(path);
      expect(answer.status).toBe(expected.show);
      if (expected.show !== 200) expect(answer.body).not.toHaveProperty("data");
    }
  });

  it(`listWorkspaces: ${expected.list}`, async () => {
    const answer = await caller.get(`/organizations/${org.name}/workspaces?filter[project][id]=${projectId}`);
    expect(answer.status).toBe(expected.list);
    const found = (answer.body.data ?? []).map((item: Json) => item.id);
    expect(found).toEqual(expected.show === 200 ? [workspace.id] : []);
    if (expected.list === 200) expect(answer.body.meta.pagination["total-count"]).toBe(found.length);
  });

  it(`updateWorkspace, by id and by name: ${expected.update}`, async () => {
    for (const [number, path] of [pathById(workspace), pathByName(workspace)].entries()) {
      const description = `changed ${number}`;
      const answer = await caller.patch(path, resource("workspaces", { description }));
      expect(answer.status).toBe(expected.update);
      if (expected.update === 403) expect(details(answer)[0]).toContain("admin access to the workspace (can-update)");
      expect((await shown()).attributes.description).toBe(expected.update === 200 ? description : null);
    }
  });

  it(`createWorkspace in its project: ${expected.create}`, async () => {
    const name = unique("made");
    const body = resource("workspaces", { name }, inProject(projectId));
    const answer = await caller.post(`/organizations/${org.name}/workspaces`, body);
    // Whoever can't read the project is told that there is no such project.
    const hidden = expected.create === 403 && (await caller.get(`/projects/${projectId}`)).status === 404;
    expect(answer.status).toBe(hidden ? 422 : expected.create);
    const made = await api.admin.get(`/organizations/${org.name}/workspaces/${name}`);
    expect(made.status).toBe(expected.create === 201 ? 200 : 404);
    if (made.status === 200) expect(answer.body.data.id).toBe(made.body.data.id);
  });

  it(`lockWorkspace: ${expected.lock}`, async () => {
    const answer = await caller.post(`${pathById(workspace)}/actions/lock`);
    expect(answer.status).toBe(expected.lock);
    expect((await shown()).attributes.locked).toBe(expected.lock === 200);
    await setColumns(api, workspace.id, { lockedByType: null, lockedById: null, lockedReason: null });
  });

  it(`unlockWorkspace, with its own lock: ${expected.unlock}`, async () => {
    if (expected.unlock === 401) {
      expect((await caller.post(`${pathById(workspace)}/actions/unlock`)).status).toBe(401);
      return;
    }
    await setColumns(api, workspace.id, await lockedByWhom());
    const answer = await caller.post(`${pathById(workspace)}/actions/unlock`);
    expect(answer.status).toBe(expected.unlock);
    expect((await shown()).attributes.locked).toBe(expected.unlock !== 200);
  });

  it(`forceUnlockWorkspace: ${expected.forceUnlock}`, async () => {
    await setColumns(api, workspace.id, { lockedByType: "users", lockedById: "user-x", lockedByName: "x" });
    const answer = await caller.post(`${pathById(workspace)}/actions/force-unlock`);
    expect(answer.status).toBe(expected.forceUnlock);
    expect((await shown()).attributes.locked).toBe(expected.forceUnlock !== 200);
    await setColumns(api, workspace.id, { lockedByType: null, lockedById: null, lockedByName: null });
  });

  it(`assignSshKey: ${expected.sshKey}`, async () => {
    const path = `${pathById(workspace)}/relationships/ssh-key`;
    const answer = await caller.patch(path, resource("workspaces", { id: sshKey }));
    expect(answer.status).toBe(expected.sshKey);
    if (expected.sshKey === 403) expect(details(answer)[0]).toContain("admin access to the workspace");
    expect((await shown()).relationships["ssh-key"].data?.id).toBe(expected.sshKey === 200 ? sshKey : undefined);
  });

  it(`deleteWorkspace of one with resources: ${expected.delete}`, async () => {
    await setColumns(api, workspace.id, { resourceCount: 3 });
    const answer = await caller.delete(pathByName(workspace));
    expect(answer.status).toBe(expected.delete);
    if (expected.delete === 403)
      expect(details(answer)[0]).toContain("ownership of the organization, or admin access to the workspace");
    expect(await isThere()).toBe(expected.delete !== 204);
  });

  it.each(["by id", "by name"])(`safeDeleteWorkspace %s: ${expected.safeDelete}`, async (how) => {
    const project = await makeProject(api, org.name);
    const own = await makeWorkspace(api, org.name, {}, inProject(project.id));
    const person = await makeCaller(api, org, own);
    const path = how === "by id" ? pathById(own) : pathByName(own);
    expect((await person.post(`${path}/actions/safe-delete`)).status).toBe(expected.safeDelete);
    expect((await api.admin.get(pathById(own))).status).toBe(expected.safeDelete === 204 ? 404 : 200);
  });
});

describe("access follows the register", () => {
  let workspace: Json;
  beforeEach(async () => {
    workspace = await makeWorkspace(api, org.name);
  });

  it("ends when somebody leaves the team, the organization, or the grant is gone", async () => {
    const team = data(
      await api.admin.post(`/organizations/${org.name}/teams`, resource("teams", { name: unique("team") })),
    );
    const [leaver, goer, stayer] = [
      await makeMember(api, org.name, [team.id]),
      await makeMember(api, org.name, [team.id]),
      await makeMember(api, org.name, [team.id]),
    ];
    const grant = data(
      await api.admin.post(
        "/team-workspaces",
        resource(
          "team-workspaces",
          { access: "admin" },
          {
            team: { data: { type: "teams", id: team.id } },
            workspace: { data: { type: "workspaces", id: workspace.id } },
          },
        ),
      ),
    );
    for (const person of [leaver, goer, stayer]) expect((await person.get(pathById(workspace))).status).toBe(200);
    const link = { data: [{ type: "users", id: leaver.username }] };
    data(await api.admin.delete(`/teams/${team.id}/relationships/users`, link));
    data(await api.admin.delete(`/organization-memberships/${goer.membershipId}`));
    expect((await leaver.get(pathById(workspace))).status).toBe(404);
    expect((await goer.get(pathById(workspace))).status).toBe(404);
    expect((await stayer.get(pathById(workspace))).status).toBe(200);
    data(await api.admin.delete(`/team-workspaces/${grant.id}`));
    expect((await stayer.get(pathById(workspace))).status).toBe(404);
  });

  it("a 404 for what may not be seen reads like one for what is not there", async () => {
    const person = await makeUser(api);
    const answers = [
      await person.get(pathById(workspace)),
      await person.get("/workspaces/ws-doesnotexist"),
      await person.get(pathByName(workspace)),
      await person.get(`/organizations/${org.name}/workspaces/unknown`),
      await person.get(`/organizations/${unique("no")}/workspaces/unknown`),
      await person.delete(pathById(workspace)),
      await person.post(`${pathById(workspace)}/actions/lock`),
    ];
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404));
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(answers[0]?.body.errors).toEqual([{ status: "404", title: "not found", detail: expect.any(String) }]);
  });

  it("an id and a name are taken by the letter", async () => {
    expect((await org.owner.get(`/workspaces/${workspace.id.toUpperCase()}`)).status).toBe(404);
    expect((await org.owner.get(pathByName(workspace).replace(/ws-/, "WS-"))).status).toBe(404);
    expect((await org.owner.get(`${pathByName(workspace)}%20`)).status).toBe(404);
    expect((await org.owner.get(`/workspaces/${workspace.attributes.name}`)).status).toBe(404);
  });
});
