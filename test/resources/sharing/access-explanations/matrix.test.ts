/** Every level, every custom permission alone, every organization-level permission and every kind of token × every endpoint. */
import { raised } from "../../../../src/resources/shared/versions.ts";
import { beforeAll, describe, expect, inject, it } from "vitest";
import {
  type Abilities,
  byOrganizationPermission,
  byProjectRecord,
  byWorkspaceRecord,
  endpoints,
  organizationTokenAbilities,
  outsider,
  ownerAbilities,
  plainMember,
  projectFlags,
  type Stage,
  workspaceFlags,
} from "../../../support/abilities.ts";
import { type Caller, useApi } from "../../../support/api.ts";
import {
  data,
  details,
  inProject,
  makeHolder,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeProject,
  makeTeam,
  makeTeamProject,
  makeTeamToken,
  makeTeamWorkspace,
  makeUser,
  makeWorkspace,
  type Org,
} from "../../../support/builders.ts";
import { isDeep } from "../../../support/depth.ts";

const api = useApi();
let org: Org;
let other: Org;
beforeAll(async () => {
  org = await makeOrganization(api);
  other = await makeOrganization(api);
});

type MakeCaller = (stage: Stage) => Promise<Caller>;

const onProject = (attributes: object): MakeCaller => {
  return async ({ projectId }) => {
    const team = await makeTeam(api, org.name);
    await makeTeamProject(api, projectId, team.id, attributes);
    return makeMember(api, org.name, [team.id]);
  };
};
const onWorkspace = (attributes: object): MakeCaller => {
  return async ({ workspaceId }) => {
    const team = await makeTeam(api, org.name);
    await makeTeamWorkspace(api, workspaceId, team.id, attributes);
    return makeMember(api, org.name, [team.id]);
  };
};
const teamToken = (attributes: object): MakeCaller => {
  return async ({ projectId }) => {
    const team = await makeTeam(api, org.name);
    await makeTeamProject(api, projectId, team.id, attributes);
    return makeTeamToken(api, team.id);
  };
};
const abilitiesOf = (rows: typeof byProjectRecord, name: string): Abilities =>
  rows.find(([row]) => row === name)?.[2] ?? outsider;

/** A person in two teams: what one gives on the project and the other on the workspace adds up. */
const sum: MakeCaller = async ({ projectId, workspaceId }) => {
  const [first, second] = [await makeTeam(api, org.name), await makeTeam(api, org.name)];
  await makeTeamProject(api, projectId, first.id, { access: "read" });
  await makeTeamWorkspace(api, workspaceId, second.id, { access: "admin" });
  return makeMember(api, org.name, [first.id, second.id]);
};

const callers: readonly (readonly [string, MakeCaller, Abilities])[] = [
  ...byProjectRecord.map(
    ([name, attributes, abilities]) => [`team-project ${name}`, onProject(attributes), abilities] as const,
  ),
  ...byWorkspaceRecord.map(
    ([name, attributes, abilities]) => [`team-workspace ${name}`, onWorkspace(attributes), abilities] as const,
  ),
  ...byOrganizationPermission.map(
    ([name, abilities]) => [`organization's ${name}`, () => makeHolder(api, org.name, name), abilities] as const,
  ),
  ...(["read", "write", "maintain", "admin"] as const).map(
    (level) =>
      [`token of a team with ${level}`, teamToken({ access: level }), abilitiesOf(byProjectRecord, level)] as const,
  ),
  [
    "read on the project and admin on the workspace, by two teams",
    sum,
    new Set([...abilitiesOf(byProjectRecord, "read"), ...abilitiesOf(byWorkspaceRecord, "admin")]),
  ],
  ["an owner", async () => org.owner, ownerAbilities],
  ["a site admin", async () => api.admin, ownerAbilities],
  ["the owners team's token", () => makeTeamToken(api, org.ownersTeamId), ownerAbilities],
  ["the organization's token", () => makeOrganizationToken(api, org.name), organizationTokenAbilities],
  ["a plain member", () => makeMember(api, org.name), plainMember],
  ["a stranger", () => makeUser(api), outsider],
  ["another organization's owner", async () => other.owner, outsider],
  ["another organization's token", () => makeOrganizationToken(api, other.name), outsider],
  ["another organization's owners team's token", () => makeTeamToken(api, other.ownersTeamId), outsider],
];

async function makeStage(): Promise<Stage> {
  const project = await makeProject(api, org.name);
  const workspace = await makeWorkspace(api, org.name, {}, inProject(project.id));
  await api.database.write((tx) =>
    tx.db
      .updateTable("workspaces")
      .set({ resourceCount: 1, ...raised })
      .where("id", "=", workspace.id)
      .execute(),
  );
  const bystander = await makeTeam(api, org.name);
  return {
    organizationName: org.name,
    projectId: project.id,
    workspaceId: workspace.id,
    bystanderId: bystander.id,
    teamProjectId: (await makeTeamProject(api, project.id, bystander.id, { access: "read" })).id,
    teamWorkspaceId: (await makeTeamWorkspace(api, workspace.id, bystander.id, { access: "read" })).id,
    newTeamIds: [(await makeTeam(api, org.name)).id, (await makeTeam(api, org.name)).id],
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
  let stage: Stage;
  let caller: Caller;
  beforeAll(async () => {
    stage = await makeStage();
    caller = await makeCaller(stage);
  });

  it("is told so by the flags of the documents, and by the explanation", async () => {
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
      expect(details(answer)[0]).toMatch(/needs|You can't grant what you don't hold|You may not/);
  });
});
