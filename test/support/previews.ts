/** Changes of access, for previews. */
import type { Answer, Caller, Json } from "./api.ts";
import { data, onProject, onWorkspace, resource } from "./builders.ts";

export const requestPreview = (
  caller: Caller,
  organizationName: string,
  changes: readonly Json[],
  more: object = {},
): Promise<Answer> =>
  caller.post(`/organizations/${organizationName}/access-previews`, resource("access-previews", { changes, ...more }));

export const previewOf = async (caller: Caller, organizationName: string, ...changes: readonly Json[]): Promise<Json> =>
  data(await requestPreview(caller, organizationName, changes)).attributes;

export const projectGrant = (access: string, teamId: string, projectId: string): Json => ({
  method: "POST",
  path: "/team-projects",
  body: resource("team-projects", { access }, onProject(projectId, teamId)),
});

export const workspaceGrant = (access: string, teamId: string, workspaceId: string): Json => ({
  method: "POST",
  path: "/api/v2/team-workspaces",
  body: resource("team-workspaces", { access }, onWorkspace(workspaceId, teamId)),
});

export const joining = (teamId: string, ...usernames: readonly string[]): Json => ({
  method: "POST",
  path: `/teams/${teamId}/relationships/users`,
  body: { data: usernames.map((id) => ({ type: "users", id })) },
});

export const leaving = (teamId: string, ...usernames: readonly string[]): Json => ({
  ...joining(teamId, ...usernames),
  method: "DELETE",
});

export const permitting = (teamId: string, permission: string, value = true): Json => ({
  method: "PATCH",
  path: `/teams/${teamId}`,
  body: resource("teams", { "organization-access": { [permission]: value } }),
});

export const moving = (projectId: string, ...workspaceIds: readonly string[]): Json => ({
  method: "POST",
  path: `/projects/${projectId}/relationships/workspaces`,
  body: { data: workspaceIds.map((id) => ({ type: "workspaces", id })) },
});
