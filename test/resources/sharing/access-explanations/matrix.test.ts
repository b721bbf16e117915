/**
 * Every level, every custom permission alone, every organization-level permission and every kind of token × every
 * endpoint. The number of statements is the same with 1 and with 500 teams, grants and workspaces: rule 1 of the
 * design.
 */
import { beforeAll, describe, expect, inject, it } from "vitest";
import { incrementedVersion } from "../../../../src/resources/shared/versions.ts";
import {
  type Abilities,
  byOrganizationPermission,
  byProjectGrant,
  byWorkspaceGrant,
  endpoints,
  organizationTokenAbilities,
  outsider,
  ownerAbilities,
  plainMember,
  projectFlags,
  type MatrixFixtures,
  workspaceFlags,
} from "../../../support/abilities.ts";
import { type Caller, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  type Member,
  onProject,
  onWorkspace,
  type Org,
  resource,
} from "../../../support/builders.ts";
import { insertTeams, insertWorkspaces } from "../../../support/bulk-rows.ts";
import { change } from "../../../support/database.ts";
import { isDeep } from "../../../support/depth.ts";
import { expectLinear } from "../../../support/growth.ts";

const api = useApi();

describe("matrix", () => {
  let org: Org;
  let other: Org;
  beforeAll(async () => {
    org = await api.makeOrganization();
    other = await api.makeOrganization();
  });

  type MakeCaller = (stage: MatrixFixtures) => Promise<Caller>;

  const onProject = (attributes: object): MakeCaller => {
    return async ({ projectId }) => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(projectId, team.id, attributes);
      return api.makeMember(org.name, [team.id]);
    };
  };
  const onWorkspace = (attributes: object): MakeCaller => {
    return async ({ workspaceId }) => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamWorkspace(workspaceId, team.id, attributes);
      return api.makeMember(org.name, [team.id]);
    };
  };
  const teamToken = (attributes: object): MakeCaller => {
    return async ({ projectId }) => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(projectId, team.id, attributes);
      return api.makeTeamToken(team.id);
    };
  };
  const abilitiesOf = (rows: typeof byProjectGrant, name: string): Abilities =>
    rows.find(([row]) => row === name)?.[2] ?? outsider;

  /** A person in two teams: what one gives on the project and the other on the workspace adds up. */
  const sum: MakeCaller = async ({ projectId, workspaceId }) => {
    const [first, second] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    await api.makeTeamProject(projectId, first.id, { access: "read" });
    await api.makeTeamWorkspace(workspaceId, second.id, { access: "admin" });
    return api.makeMember(org.name, [first.id, second.id]);
  };

  const callers: readonly (readonly [string, MakeCaller, Abilities])[] = [
    ...byProjectGrant.map(
      ([name, attributes, abilities]) => [`team-project ${name}`, onProject(attributes), abilities] as const,
    ),
    ...byWorkspaceGrant.map(
      ([name, attributes, abilities]) => [`team-workspace ${name}`, onWorkspace(attributes), abilities] as const,
    ),
    ...byOrganizationPermission.map(
      ([name, abilities]) => [`organization's ${name}`, () => api.makeHolder(org.name, name), abilities] as const,
    ),
    ...(["read", "write", "maintain", "admin"] as const).map(
      (level) =>
        [`token of a team with ${level}`, teamToken({ access: level }), abilitiesOf(byProjectGrant, level)] as const,
    ),
    [
      "read on the project and admin on the workspace, by two teams",
      sum,
      new Set([...abilitiesOf(byProjectGrant, "read"), ...abilitiesOf(byWorkspaceGrant, "admin")]),
    ],
    ["an owner", async () => org.owner, ownerAbilities],
    ["a site admin", async () => api.admin, ownerAbilities],
    ["the owners team's token", () => api.makeTeamToken(org.ownersTeamId), ownerAbilities],
    ["the organization's token", () => api.makeOrganizationToken(org.name), organizationTokenAbilities],
    ["a plain member", () => api.makeMember(org.name), plainMember],
    ["a stranger", () => api.makeUser(), outsider],
    ["another organization's owner", async () => other.owner, outsider],
    ["another organization's token", () => api.makeOrganizationToken(other.name), outsider],
    ["another organization's owners team's token", () => api.makeTeamToken(other.ownersTeamId), outsider],
  ];

  async function makeStage(): Promise<MatrixFixtures> {
    const project = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
    await api.database.write((tx) =>
      tx.db
        .updateTable("workspaces")
        .set({ resourceCount: 1, ...incrementedVersion })
        .where("id", "=", workspace.id)
        .execute(),
    );
    const bystander = await api.makeTeam(org.name);
    return {
      organizationName: org.name,
      projectId: project.id,
      workspaceId: workspace.id,
      bystanderId: bystander.id,
      teamProjectId: (await api.makeTeamProject(project.id, bystander.id, { access: "read" })).id,
      teamWorkspaceId: (await api.makeTeamWorkspace(workspace.id, bystander.id, { access: "read" })).id,
      newTeamIds: [(await api.makeTeam(org.name)).id, (await api.makeTeam(org.name)).id],
    };
  }

  /**
   * What is held comes by the same statements for everybody, and what follows from it is decided without any (`test/access`): a quick run
   * tries a third of all on SQLite, the gate the others on PostgreSQL, a deep run each on both.
   */
  const third = (index: number) => index % 3 === 0;
  const isTried = (index: number) => isDeep || third(index) === (inject("engine") === "sqlite");
  const tried = callers.filter((_, index) => isTried(index));

  describe.each(tried)("%s", (_, makeCaller, abilities) => {
    const may = (ability: Parameters<typeof abilities.has>[0]) => abilities.has(ability);
    let stage: MatrixFixtures;
    let caller: Caller;
    beforeAll(async () => {
      stage = await makeStage();
      caller = await makeCaller(stage);
    });

    it("agrees with the flags of the documents, and with the explanation", async () => {
      const project = await caller.get(`/projects/${stage.projectId}`);
      if (may("read project")) {
        expect(data(project).attributes.permissions).toEqual(projectFlags(may));
        const { can } = data(await caller.get(`/projects/${stage.projectId}/access`)).attributes;
        expect(can).toEqual({
          ...projectFlags(may),
          "can-read": true,
          "can-move-workspaces": may("move"),
          "can-manage-team-access": may("manage teams"),
          "can-read-team-access": may("read teams"),
        });
      }
      const workspace = await caller.get(`/workspaces/${stage.workspaceId}`);
      if (may("see")) {
        expect(data(workspace).attributes.permissions).toEqual(workspaceFlags(may));
        const { can } = data(await caller.get(`/workspaces/${stage.workspaceId}/access`)).attributes;
        expect(can).toEqual({
          ...workspaceFlags(may),
          "can-manage-team-access": may("admin"),
          "can-read-team-access": may("admin") || may("read teams"),
        });
      }
    });

    it.each(endpoints)("$name", async ({ method, path, body, expected }) => {
      const answer = await caller.send(method, path(stage), body?.(stage));
      expect(answer.status, JSON.stringify(answer.body)).toBe(expected(may));
      if (answer.status === 403)
        expect(details(answer)[0]).toMatch(/needs|You can't grant what you don't have|You may not/);
    });
  });
});

describe("statements", () => {
  interface Scene {
    readonly org: Org;
    readonly member: Member;
    readonly projectId: string;
    readonly destinationId: string;
    readonly workspaceId: string;
    readonly workspaceIds: readonly string[];
    readonly teamId: string;
    readonly newTeamIds: readonly [string, string];
    readonly teamProjectId: string;
    readonly teamWorkspaceId: string;
  }

  async function makeScene(count: number): Promise<Scene> {
    const org = await api.makeOrganization();
    const member = await api.makeMember(org.name);
    const project = await api.makeProject(org.name);
    const destination = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
    const team = await api.makeTeam(org.name);
    const teamProject = await api.makeTeamProject(project.id, team.id, { access: "read" });
    const teamWorkspace = await api.makeTeamWorkspace(workspace.id, team.id, { access: "read" });
    await insertTeams(api, org, count, { projectId: project.id, workspaceId: workspace.id, member });
    return {
      org,
      member,
      projectId: project.id,
      destinationId: destination.id,
      workspaceId: workspace.id,
      workspaceIds: await insertWorkspaces(api, org, project.id, count === 1 ? 1 : 1000),
      teamId: team.id,
      newTeamIds: [(await api.makeTeam(org.name)).id, (await api.makeTeam(org.name)).id],
      teamProjectId: teamProject.id,
      teamWorkspaceId: teamWorkspace.id,
    };
  }

  let small: Scene;
  let large: Scene;
  beforeAll(async () => {
    small = await makeScene(1);
    large = await makeScene(500);
  });

  interface Request {
    readonly name: string;
    readonly method: string;
    readonly path: (scene: Scene) => string;
    readonly body?: (scene: Scene) => unknown;
  }
  type Path = Request["path"];

  const ofProject: Path = ({ projectId }) => `/team-projects?filter[project][id]=${projectId}`;
  const ofWorkspace: Path = ({ workspaceId }) => `/team-workspaces?filter[workspace][id]=${workspaceId}`;
  const teamProject: Path = ({ teamProjectId }) => `/team-projects/${teamProjectId}`;
  const teamWorkspace: Path = ({ teamWorkspaceId }) => `/team-workspaces/${teamWorkspaceId}`;
  const access: Path = ({ workspaceId }) => `/workspaces/${workspaceId}/access`;

  const read = (name: string, path: Path): Request => ({ name, method: "GET", path });
  const lists: readonly Request[] = [
    read("list team-projects", ofProject),
    read("list team-workspaces", ofWorkspace),
    read("list a page of team-workspaces", (scene) => `${ofWorkspace(scene)}&page[size]=5`),
    read("list the teams of the project", ({ projectId }) => `/projects/${projectId}/team-access?page[size]=100`),
    read(
      "list the teams of the workspace",
      ({ workspaceId }) => `/workspaces/${workspaceId}/team-access?page[size]=100`,
    ),
  ];
  const documents: readonly Request[] = [
    read("show a team-project", teamProject),
    read("show a team-workspace", teamWorkspace),
    read("explain the project", ({ projectId }) => `/projects/${projectId}/access`),
    read("explain the workspace", access),
    read("explain a person", (scene) => `${access(scene)}?filter[user][id]=${scene.member.id}`),
    read("explain a team", (scene) => `${access(scene)}?filter[team][id]=${scene.teamId}`),
  ];

  const writes: readonly Request[] = [
    {
      name: "create a team-project",
      method: "POST",
      path: () => "/team-projects",
      body: ({ projectId, newTeamIds }) =>
        resource("team-projects", { access: "write" }, onProject(projectId, newTeamIds[0])),
    },
    {
      name: "create a team-workspace",
      method: "POST",
      path: () => "/team-workspaces",
      body: ({ workspaceId, newTeamIds }) =>
        resource("team-workspaces", { access: "write" }, onWorkspace(workspaceId, newTeamIds[1])),
    },
    {
      name: "update a team-project",
      method: "PATCH",
      path: teamProject,
      body: () => resource("team-projects", { access: "write" }),
    },
    {
      name: "update a team-workspace",
      method: "PATCH",
      path: teamWorkspace,
      body: () => resource("team-workspaces", { access: "plan" }),
    },
    { name: "delete a team-project", method: "DELETE", path: teamProject },
    { name: "delete a team-workspace", method: "DELETE", path: teamWorkspace },
    {
      name: "move 1 or 1,000 workspaces",
      method: "POST",
      path: ({ destinationId }) => `/projects/${destinationId}/relationships/workspaces`,
      body: ({ workspaceIds }) => ({ data: workspaceIds.map((id) => ({ type: "workspaces", id })) }),
    },
  ];

  async function count(caller: Caller, scene: Scene, { method, path, body }: Request): Promise<number> {
    await change(api.database);
    const before = api.database.statementCount();
    const answer = await caller.send(method, path(scene), body?.(scene));
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    return api.database.statementCount() - before;
  }

  /** Needs as many for the large organization as for the small one, and at most so many. */
  async function expectConstant(request: Request, kind: "owner" | "member", most: number): Promise<void> {
    const caller = ({ org, member }: Scene) => (kind === "owner" ? org.owner : member);
    const few = await count(caller(small), small, request);
    const many = await count(caller(large), large, request);
    expect([few, many], kind).toEqual([few, few]);
    expect(many, kind).toBeLessThanOrEqual(most);
  }

  describe("a constant number of statements", () => {
    it.each(documents)("$name: at most 2", async (request) => {
      await expectConstant(request, "owner", 2);
      await expectConstant(request, "member", 2);
    });

    it.each(lists)("$name: at most 3", async (request) => {
      await expectConstant(request, "owner", 3);
      await expectConstant(request, "member", 3);
    });

    it.each(writes)("$name: at most 9", async (request) => {
      await expectConstant(request, "owner", 9);
    });
  });

  describe("the sum over 500 teams", () => {
    const explain = ({ member, workspaceId }: Scene) => member.get(`/workspaces/${workspaceId}/access`);

    it("equals the access of one of them", async () => {
      const { permissions, can } = (await explain(large)).body.data.attributes;
      expect(permissions["workspace-admin"]["given-by"]).toHaveLength(500);
      expect(can["can-update"]).toBe(true);
    });

    it("takes time that grows no faster than the number of teams", async () => {
      const scenes = new Map([[500, large]]);
      for (const teams of [125, 250]) scenes.set(teams, await makeScene(teams));
      const explainAnew = async (teams: number) => {
        await change(api.database);
        expect((await explain(scenes.get(teams)!)).status).toBe(200);
      };
      await expectLinear("the explanation", explainAnew, 500, 1);
    });
  });
});
