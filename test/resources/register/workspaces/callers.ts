/** Every kind of caller of a workspace, with the expected result of each operation from the tables in the decisions. */
import { maskOf, type PermissionSet } from "../../../../src/access/permission-set.ts";
import { newId } from "../../../../src/kernel/ids.ts";
import { now } from "../../../../src/kernel/time.ts";
import type { Api, Caller, Json } from "../../../support/api.ts";
import { type Org } from "../../../support/builders.ts";

type Make = (api: Api, org: Org, workspace: Json) => Promise<Caller>;
export type ProjectGrant = "read" | "write" | "maintain" | "admin";
export type WorkspaceGrant = "read" | "plan" | "write" | "admin";

const projectOf = (workspace: Json): string => workspace.relationships.project.data.id;

export const holder =
  (...permissions: string[]): Make =>
  (api, org) =>
    api.makeHolder(org.name, ...permissions);

/** A member in a team for each level. */
export const onProject =
  (...levels: ProjectGrant[]): Make =>
  async (api, org, workspace) => {
    const teams: string[] = [];
    for (const level of levels) {
      const team = await api.makeTeam(org.name);
      await api.grantProject(projectOf(workspace), team.id, level);
      teams.push(team.id);
    }
    return api.makeMember(org.name, teams);
  };

export const onWorkspace =
  (...levels: WorkspaceGrant[]): Make =>
  async (api, org, workspace) => {
    const teams: string[] = [];
    for (const level of levels) {
      const team = await api.makeTeam(org.name);
      await api.grantWorkspace(workspace.id, team.id, level);
      teams.push(team.id);
    }
    return api.makeMember(org.name, teams);
  };

/** A custom set on the workspace, or on its project. */
export const custom =
  (where: "workspace" | "project", set: Partial<PermissionSet>): Make =>
  async (api, org, workspace) => {
    const team = await api.makeTeam(org.name);
    const row = { organizationId: org.id, teamId: team.id, access: "custom", permissions: maskOf(set) };
    const rest = { createdAt: now(), version: 1 };
    await api.database.write((tx) =>
      where === "workspace"
        ? tx.db
            .insertInto("teamWorkspaces")
            .values({ id: newId("team-workspaces"), workspaceId: workspace.id, ...row, ...rest })
            .execute()
        : tx.db
            .insertInto("teamProjects")
            .values({ id: newId("team-projects"), projectId: projectOf(workspace), ...row, ...rest })
            .execute(),
    );
    return api.makeMember(org.name, [team.id]);
  };

const teamToken =
  (level: WorkspaceGrant): Make =>
  async (api, org, workspace) => {
    const team = await api.makeTeam(org.name);
    await api.grantWorkspace(workspace.id, team.id, level);
    return api.makeTeamToken(team.id);
  };

const readAndLock: Make = async (api, org, workspace) => {
  const [one, two] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
  await api.grantWorkspace(workspace.id, one.id, "read");
  await api.grantProject(projectOf(workspace), two.id, "write");
  return api.makeMember(org.name, [one.id, two.id]);
};

/** The status of each operation. */
export interface Expected {
  readonly show: number;
  readonly list: number;
  readonly update: number;
  readonly create: number;
  readonly lock: number;
  readonly unlock: number;
  readonly forceUnlock: number;
  readonly sshKey: number;
  readonly safeDelete: number;
  readonly delete: number;
}

const row = (
  ...statuses: [number, number, number, number, number, number, number, number, number, number]
): Expected => {
  const [show, list, update, create, lock, unlock, forceUnlock, sshKey, safeDelete, remove] = statuses;
  return { show, list, update, create, lock, unlock, forceUnlock, sshKey, safeDelete, delete: remove };
};

// prettier-ignore
const rows = {
  //                   show list update create lock unlock force ssh  safe delete
  everything:      row(200, 200, 200,   201,   200, 200,   200,  200, 204, 204),
  // An organization's token can't lock and unlock.
  organization:    row(200, 200, 200,   201,   404, 404,   200,  200, 204, 204),
  // A workspace admin who can create workspaces in the project.
  maintainer:      row(200, 200, 200,   201,   200, 200,   200,  200, 204, 403),
  workspaceAdmin:  row(200, 200, 200,   403,   200, 200,   200,  200, 204, 403),
  writer:          row(200, 200, 403,   403,   200, 200,   404,  403, 404, 403),
  reader:          row(200, 200, 403,   403,   404, 404,   404,  403, 404, 403),
  deleter:         row(200, 200, 403,   403,   404, 404,   404,  403, 204, 403),
  creator:         row(200, 200, 403,   201,   404, 404,   404,  403, 404, 403),
  blind:           row(404, 200, 404,   403,   404, 404,   404,  404, 404, 404),
  stranger:        row(404, 404, 404,   404,   404, 404,   404,  404, 404, 404),
  unknown:         row(401, 401, 401,   401,   401, 401,   401,  401, 401, 401),
} as const;

export const callers: readonly (readonly [string, Make, Expected])[] = [
  ["an owner", async (_, org) => org.owner, rows.everything],
  ["a site admin", async (api) => api.admin, rows.everything],
  ["the owners team's token", (api, org) => api.makeTeamToken(org.ownersTeamId), rows.everything],
  ["the organization's token", (api, org) => api.makeOrganizationToken(org.name), rows.organization],
  ["a holder of manage-projects", holder("manage-projects"), rows.maintainer],
  ["a holder of manage-workspaces", holder("manage-workspaces"), rows.maintainer],
  ["a holder of read-workspaces", holder("read-workspaces"), rows.reader],
  ["a holder of read-projects", holder("read-projects"), rows.reader],
  ["a holder of other permissions", holder("manage-teams", "manage-membership", "manage-vcs-settings"), rows.blind],
  ["a plain member", (api, org) => api.makeMember(org.name), rows.blind],
  ["read on the project", onProject("read"), rows.reader],
  ["write on the project", onProject("write"), rows.writer],
  ["maintain on the project", onProject("maintain"), rows.maintainer],
  ["admin on the project", onProject("admin"), rows.maintainer],
  ["read on the workspace", onWorkspace("read"), rows.reader],
  ["plan on the workspace", onWorkspace("plan"), rows.reader],
  ["write on the workspace", onWorkspace("write"), rows.writer],
  ["admin on the workspace", onWorkspace("admin"), rows.workspaceAdmin],
  ["two teams, read and admin on the workspace", onWorkspace("read", "admin"), rows.workspaceAdmin],
  ["two teams, read and maintain on the project", onProject("read", "maintain"), rows.maintainer],
  ["two teams, read on the workspace and write on the project", readAndLock, rows.writer],
  ["custom on the workspace: locking", custom("workspace", { runs: "read", locking: true }), rows.writer],
  [
    "custom on the workspace: everything that a set can hold",
    custom("workspace", {
      runs: "apply",
      variables: "write",
      stateVersions: "write",
      policyMocks: "read",
      locking: true,
      runTasks: true,
    }),
    rows.writer,
  ],
  ["custom on the project: delete", custom("project", { settings: "read", runs: "read", delete: true }), rows.deleter],
  ["custom on the project: create", custom("project", { settings: "read", runs: "read", create: true }), rows.creator],
  ["the token of a team with read", teamToken("read"), rows.reader],
  ["the token of a team with admin", teamToken("admin"), rows.workspaceAdmin],
  ["a stranger", (api) => api.makeUser(), rows.stranger],
  ["an owner of another organization", async (api) => (await api.makeOrganization()).owner, rows.stranger],
  [
    "another organization's token",
    async (api) => api.makeOrganizationToken((await api.makeOrganization()).name),
    rows.stranger,
  ],
  ["no token", async (api) => api.nobody, rows.unknown],
  ["an unknown token", async (api) => api.as("cadastre-unknown"), rows.unknown],
];
