/**
 * Access to a workspace: every kind of caller against every operation, and the 21 permissions in its document for every
 * level.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, resource, unique } from "../../../support/builders.ts";
import { callers, custom, holder, onProject, onWorkspace } from "./callers.ts";
import { makeSshKey, pathById, pathByName, setColumns } from "./support.ts";

const api = useApi();
let org: Org;

describe("access", () => {
  let sshKey: string;
  beforeAll(async () => {
    org = await api.makeOrganization();
    sshKey = await makeSshKey(api, org.name);
  });

  describe.each(callers)("%s", (_, makeCaller, expected) => {
    let caller: Caller;
    let workspace: Json;
    let projectId: string;
    beforeAll(async () => {
      projectId = (await api.makeProject(org.name)).id;
      workspace = await api.makeWorkspace(org.name, {}, inProject(projectId));
      caller = await makeCaller(api, org, workspace);
    });
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
      // Callers who can't read the project get the error for an unknown one.
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
      const project = await api.makeProject(org.name);
      const own = await api.makeWorkspace(org.name, {}, inProject(project.id));
      const person = await makeCaller(api, org, own);
      const path = how === "by id" ? pathById(own) : pathByName(own);
      expect((await person.post(`${path}/actions/safe-delete`)).status).toBe(expected.safeDelete);
      expect((await api.admin.get(pathById(own))).status).toBe(expected.safeDelete === 204 ? 404 : 200);
    });
  });

  describe("access follows the stored grants", () => {
    let workspace: Json;
    beforeEach(async () => {
      workspace = await api.makeWorkspace(org.name);
    });

    it("ends when the user leaves the team or the organization, or the grant is deleted", async () => {
      const team = data(
        await api.admin.post(`/organizations/${org.name}/teams`, resource("teams", { name: unique("team") })),
      );
      const [leaver, goer, stayer] = [
        await api.makeMember(org.name, [team.id]),
        await api.makeMember(org.name, [team.id]),
        await api.makeMember(org.name, [team.id]),
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

    it("returns the same 404 for a hidden workspace as for a missing one", async () => {
      const person = await api.makeUser();
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

    it("an id and a name are case-sensitive", async () => {
      expect((await org.owner.get(`/workspaces/${workspace.id.toUpperCase()}`)).status).toBe(404);
      expect((await org.owner.get(pathByName(workspace).replace(/ws-/, "WS-"))).status).toBe(404);
      expect((await org.owner.get(`${pathByName(workspace)}%20`)).status).toBe(404);
      expect((await org.owner.get(`/workspaces/${workspace.attributes.name}`)).status).toBe(404);
    });
  });
});

describe("the permissions in a document", () => {
  let generous: Org;
  beforeAll(async () => {
    org = await api.makeOrganization();
    generous = await api.makeOrganization({ "allow-force-delete-workspaces": true });
  });

  const reading = ["can-read-settings", "can-read-run", "can-read-assessment-results"];
  const queueing = ["can-queue-run"];
  const applying = [...queueing, "can-queue-apply", "can-queue-destroy"];
  const readingVariables = ["can-read-variable"];
  const writingVariables = [...readingVariables, "can-update-variable"];
  const readingOutputs = ["can-read-state-outputs"];
  const readingState = [...readingOutputs, "can-read-state-versions"];
  const writingState = [...readingState, "can-create-state-versions"];
  const locking = ["can-lock", "can-unlock"];
  const administering = [
    "can-update",
    "can-force-unlock",
    "can-manage-tags",
    "can-manage-assessments",
    "can-manage-ephemeral-workspaces",
    "can-destroy",
  ];
  const runTasks = ["can-manage-run-tasks"];
  const forcing = ["can-force-delete"];

  const levelRead = [...reading, ...readingVariables, ...readingState];
  const levelPlan = [...levelRead, ...queueing];
  const levelWrite = [...reading, ...applying, ...writingVariables, ...writingState, ...locking];
  const levelAdmin = [...levelWrite, ...administering, ...runTasks];
  const everything = [...levelAdmin, ...forcing];
  const all = new Set(everything);

  const permissionsOf = async (organization: Org, make: ReturnType<typeof holder>): Promise<Json> => {
    const project = await api.makeProject(organization.name);
    const workspace = await api.makeWorkspace(organization.name, {}, inProject(project.id));
    const caller = await make(api, organization, workspace);
    const shown = data(await caller.get(pathById(workspace)));
    const query = `/organizations/${organization.name}/workspaces?filter[project][id]=${project.id}`;
    expect(data(await caller.get(query))).toEqual([shown]);
    return shown.attributes.permissions;
  };
  const only = (names: readonly string[]) => Object.fromEntries([...all].map((name) => [name, names.includes(name)]));

  it("are 21", () => {
    expect(all.size).toBe(21);
  });

  it.each<[string, ReturnType<typeof holder>, string[]]>([
    ["an owner", async (_, { owner }) => owner, everything],
    ["a site admin", async () => api.admin, everything],
    ["the owners team's token", (_, { ownersTeamId }) => api.makeTeamToken(ownersTeamId), everything],
    ["a holder of manage-projects", holder("manage-projects"), levelAdmin],
    ["a holder of manage-workspaces", holder("manage-workspaces"), levelAdmin],
    ["a holder of read-projects", holder("read-projects"), levelRead],
    ["a holder of read-workspaces", holder("read-workspaces"), levelRead],
    ["project read", onProject("read"), levelRead],
    ["project write", onProject("write"), levelWrite],
    ["project maintain", onProject("maintain"), levelAdmin],
    ["project admin", onProject("admin"), levelAdmin],
    ["workspace read", onWorkspace("read"), levelRead],
    ["workspace plan", onWorkspace("plan"), levelPlan],
    ["workspace write", onWorkspace("write"), levelWrite],
    ["workspace admin", onWorkspace("admin"), levelAdmin],
    ["workspace read and write by two teams", onWorkspace("read", "write"), levelWrite],
    ["custom: runs read", custom("workspace", { runs: "read" }), reading],
    ["custom: runs plan", custom("workspace", { runs: "plan" }), [...reading, ...queueing]],
    ["custom: runs apply", custom("workspace", { runs: "apply" }), [...reading, ...applying]],
    [
      "custom: variables read",
      custom("workspace", { runs: "read", variables: "read" }),
      [...reading, ...readingVariables],
    ],
    [
      "custom: variables write",
      custom("workspace", { runs: "read", variables: "write" }),
      [...reading, ...writingVariables],
    ],
    [
      "custom: state-versions read-outputs",
      custom("workspace", { runs: "read", stateVersions: "read-outputs" }),
      [...reading, ...readingOutputs],
    ],
    [
      "custom: state-versions read",
      custom("workspace", { runs: "read", stateVersions: "read" }),
      [...reading, ...readingState],
    ],
    [
      "custom: state-versions write",
      custom("workspace", { runs: "read", stateVersions: "write" }),
      [...reading, ...writingState],
    ],
    ["custom: locking", custom("workspace", { runs: "read", locking: true }), [...reading, ...locking]],
    ["custom: run-tasks", custom("workspace", { runs: "read", runTasks: true }), [...reading, ...runTasks]],
    ["custom: policy-mocks", custom("workspace", { runs: "read", policyMocks: "read" }), reading],
    [
      "custom on the project: delete",
      custom("project", { settings: "read", runs: "read", delete: true }),
      [...reading, "can-destroy"],
    ],
    [
      "custom on the project: create and move",
      custom("project", { settings: "delete", teams: "manage", runs: "read", create: true, move: true }),
      reading,
    ],
  ])("%s", async (_, make, expected) => {
    expect(await permissionsOf(org, make)).toEqual(only(expected));
  });

  it("the organization's token: an owner who neither locks nor queues runs nor writes state", async () => {
    const token = await permissionsOf(org, (_, { name }) => api.makeOrganizationToken(name));
    const without = [...locking, ...applying, "can-create-state-versions"];
    expect(token).toEqual(only(everything.filter((name) => !without.includes(name))));
  });

  it.each<[string, ReturnType<typeof holder>, string[]]>([
    ["workspace admin", onWorkspace("admin"), everything],
    ["project maintain", onProject("maintain"), everything],
    ["project admin", onProject("admin"), everything],
    ["manage-workspaces", holder("manage-workspaces"), everything],
    ["workspace write", onWorkspace("write"), levelWrite],
    [
      "the project's delete alone",
      custom("project", { settings: "read", runs: "read", delete: true }),
      [...reading, "can-destroy"],
    ],
  ])("where the organization allows force deletion: %s", async (_, make, expected) => {
    expect(await permissionsOf(generous, make)).toEqual(only(expected));
  });
});
