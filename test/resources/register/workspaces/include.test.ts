/** `include` on show and list: each related document once, and only those that the caller could read. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org } from "../../../support/builders.ts";
import { stateOf, writeState } from "../../../support/states.ts";
import { pathById, pathByName, setColumns } from "./support.ts";

const api = useApi();

describe("include", () => {
  let org: Org;
  let projects: Json[];
  let workspaces: Json[];
  beforeAll(async () => {
    org = await api.makeOrganization();
    projects = [await api.makeProject(org.name), await api.makeProject(org.name)];
    workspaces = [];
    for (const number of [0, 0, 1])
      workspaces.push(await api.makeWorkspace(org.name, {}, inProject(projects[number].id)));
  });

  const listPath = () => `/organizations/${org.name}/workspaces`;
  const includedOf = (body: Json) => body.included.map(({ id, type }: Json) => `${type} ${id}`).sort();

  const values = [
    "current_configuration_version",
    "current_configuration_version.ingress_attributes",
    "current_run",
    "current_run.configuration_version",
    "current_run.configuration_version.ingress_attributes",
    "current_run.plan",
    "locked_by",
    "organization",
    "outputs",
    "project",
    "readme",
  ];

  describe("include", () => {
    it.each(values)("%s is supported by show, by id and by name, and by list", async (value) => {
      for (const path of [pathById(workspaces[0]), pathByName(workspaces[0]), listPath()]) {
        const answer = await org.owner.get(`${path}?include=${value}`);
        expect(answer.status).toBe(200);
        expect(Array.isArray(answer.body.included)).toBe(true);
        const plain = await org.owner.get(path);
        expect(plain.body).not.toHaveProperty("included");
        expect(answer.body.data).toEqual(plain.body.data);
      }
    });

    it("all includes in one request", async () => {
      const answer = await org.owner.get(`${pathById(workspaces[0])}?include=${values.join(",")}`);
      expect(includedOf(answer.body)).toEqual([`organizations ${org.name}`, `projects ${projects[0].id}`]);
    });

    it.each(["moon", "projects", "Project", "current_run.moon", "project.organization", "vars", "project,moon"])(
      "%s is 400 for show and list",
      async (value) => {
        for (const path of [pathById(workspaces[0]), pathByName(workspaces[0]), listPath()]) {
          const answer = await org.owner.get(`${path}?include=${value}`);
          expect(answer.status).toBe(400);
          expect(answer.body.errors).toHaveLength(1);
          expect(answer.body.errors[0]).toMatchObject({ title: "bad request", source: { parameter: "include" } });
          expect(answer.body.errors[0].detail).toContain("include parameter");
        }
      },
    );

    it("an empty one includes nothing", async () => {
      expect((await org.owner.get(`${pathById(workspaces[0])}?include=`)).body).not.toHaveProperty("included");
    });

    it("an empty list includes nothing", async () => {
      const answer = await org.owner.get(`${listPath()}?search[name]=nothing-like-it&include=project,organization`);
      expect(answer.body).toMatchObject({ data: [], included: [] });
    });
  });

  describe("include=organization and include=project", () => {
    it("are the documents that a GET shows, each once in a list", async () => {
      const { included } = (await org.owner.get(`${listPath()}?include=organization,project`)).body;
      expect(included).toHaveLength(3);
      const documents = [
        data(await org.owner.get(`/organizations/${org.name}`)),
        ...(await Promise.all(projects.map(async ({ id }) => data(await org.owner.get(`/projects/${id}`))))),
      ];
      for (const document of documents) expect(included).toContainEqual(document);
    });

    it("only those of the page are included", async () => {
      const query = `?include=project&search[name]=${workspaces[2].attributes.name}`;
      expect(includedOf((await org.owner.get(`${listPath()}${query}`)).body)).toEqual([`projects ${projects[1].id}`]);
    });

    it("a grant on only the workspace shows the project's id, but not the project", async () => {
      const team = await api.makeTeam(org.name);
      await api.grantWorkspace(workspaces[0].id, team.id, "admin");
      await api.grantProject(projects[1].id, team.id, "read");
      const member = await api.makeMember(org.name, [team.id]);
      const shown = await member.get(`${pathById(workspaces[0])}?include=project,organization`);
      expect(shown.body.data.relationships.project.data.id).toBe(projects[0].id);
      expect(includedOf(shown.body)).toEqual([`organizations ${org.name}`]);
      const listed = await member.get(`${listPath()}?include=project`);
      expect(listed.body.data).toHaveLength(2);
      expect(includedOf(listed.body)).toEqual([`projects ${projects[1].id}`]);
    });

    it.each<[string, () => Promise<Caller>, boolean]>([
      ["a holder of read-workspaces", () => api.makeHolder(org.name, "read-workspaces"), false],
      ["a holder of read-projects", () => api.makeHolder(org.name, "read-projects"), true],
      ["a holder of manage-workspaces", () => api.makeHolder(org.name, "manage-workspaces"), true],
      ["the organization's token", () => api.makeOrganizationToken(org.name), true],
      ["a site admin", async () => api.admin, true],
    ])("%s sees in include what a GET would show", async (_, make, reads) => {
      const caller = await make();
      const direct = await caller.get(`/projects/${projects[0].id}`);
      expect(direct.status).toBe(reads ? 200 : 404);
      const { included } = (await caller.get(`${pathById(workspaces[0])}?include=project`)).body;
      expect(included).toEqual(reads ? [direct.body.data] : []);
    });
  });

  describe("include=locked_by", () => {
    const lock = async (caller: Caller, workspace: Json) =>
      data(await caller.post(`${pathById(workspace)}/actions/lock`, {}));
    const holderIn = async (caller: Caller, workspace: Json): Promise<Json[]> =>
      (await caller.get(`${pathById(workspace)}?include=locked_by`)).body.included;

    it("none for an unlocked workspace", async () => {
      expect(await holderIn(org.owner, workspaces[0])).toEqual([]);
    });

    it("a user, as a GET shows it; once in a list of several", async () => {
      const own = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
      for (const workspace of own) await lock(org.owner, workspace);
      const reader = await api.makeHolder(org.name, "read-workspaces");
      const shown = data(await reader.get(`/users/${org.owner.id}`));
      expect(await holderIn(reader, own[0])).toEqual([shown]);
      const listed = await reader.get(`${listPath()}?include=locked_by`);
      expect(includedOf(listed.body)).toEqual([`users ${org.owner.id}`]);
      expect(JSON.stringify(listed.body)).not.toContain(org.owner.email);
    });

    it("a site admin from outside is not shown to callers who couldn't GET that user", async () => {
      const workspace = await api.makeWorkspace(org.name);
      const outsider = await api.makeUser({ "is-site-admin": true });
      const locked = await lock(outsider, workspace);
      expect(locked.relationships["locked-by"].data).toEqual({ id: outsider.id, type: "users" });
      const reader = await api.makeHolder(org.name, "read-workspaces");
      expect((await reader.get(`/users/${outsider.id}`)).status).toBe(404);
      expect(await holderIn(reader, workspace)).toEqual([]);
      expect(await holderIn(outsider, workspace)).toHaveLength(1);
    });

    it("a visible team for every reader; a secret one only for callers who can see it", async () => {
      for (const visibility of ["organization", "secret"]) {
        const workspace = await api.makeWorkspace(org.name);
        const team = await api.makeTeam(org.name, { visibility });
        await api.grantWorkspace(workspace.id, team.id, "write");
        const locked = await lock(await api.makeTeamToken(team.id), workspace);
        expect(locked.relationships["locked-by"].data).toEqual({ id: team.id, type: "teams" });
        const reader = await api.makeHolder(org.name, "read-workspaces");
        const insider = await api.makeMember(org.name, [team.id]);
        const shows = async (caller: Caller) => (await holderIn(caller, workspace)).map(({ id }) => id);
        expect(await shows(reader)).toEqual(visibility === "secret" ? [] : [team.id]);
        expect(await shows(insider)).toEqual([team.id]);
        expect(await shows(org.owner)).toEqual([team.id]);
        expect(await holderIn(insider, workspace)).toEqual([data(await insider.get(`/teams/${team.id}`))]);
        const listed = await reader.get(`${listPath()}?search[name]=${workspace.attributes.name}&include=locked_by`);
        expect(includedOf(listed.body)).toEqual(visibility === "secret" ? [] : [`teams ${team.id}`]);
      }
    });

    it("a deleted holder is omitted", async () => {
      const workspace = await api.makeWorkspace(org.name);
      await setColumns(api, workspace.id, { lockedByType: "users", lockedById: "user-gone", lockedByName: "gone" });
      expect(await holderIn(org.owner, workspace)).toEqual([]);
    });
  });
});

it("include=current_state_version shows each current state to callers who can read it", async () => {
  const org = await api.makeOrganization();
  const [one, two] = [await api.makeWorkspace(org.name), await api.makeWorkspace(org.name)];
  const state = await writeState(org.owner, one.id, stateOf());
  const path = `/organizations/${org.name}/workspaces?include=current_state_version`;
  const { body } = await org.owner.get(path);
  expect(body.included).toMatchObject([
    { type: "state-versions", id: state.id, attributes: { "hosted-state-download-url": expect.any(String) } },
  ]);
  expect((await org.owner.get(`/workspaces/${two.id}?include=current_state_version`)).body.included).toEqual([]);
  // As the official client spells it.
  const hyphens = await org.owner.get(path.replaceAll("current_state_version", "current-state-version"));
  expect(hyphens.body.included).toEqual(body.included);
  const team = await api.makeTeam(org.name);
  await api.makeTeamWorkspace(one.id, team.id, { access: "custom", runs: "read", "state-versions": "read-outputs" });
  const caller = await api.makeMember(org.name, [team.id]);
  expect((await caller.get(path)).body).toMatchObject({ data: [{ id: one.id }], included: [] });
});
