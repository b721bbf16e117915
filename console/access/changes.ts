/** Changes of access as the API takes them, for a preview and to apply them. */
import type { AccessTargetKind } from "./words.ts";

export interface AccessChange {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

export const grantTypes = { project: "team-projects", workspace: "team-workspaces" } as const;
const targetTypes = { project: "projects", workspace: "workspaces" } as const;

const resourceIdentifier = (type: string, id: string) => ({ data: { type, id } });

/** Replaces the team's existing grant on the same project or workspace. */
export function grantChange(
  kind: AccessTargetKind,
  target: string,
  team: string,
  attributes: object,
  record: string | undefined,
): AccessChange {
  const type = grantTypes[kind];
  if (record !== undefined)
    return { method: "PATCH", path: `/${type}/${record}`, body: { data: { type, id: record, attributes } } };
  const relationships = {
    team: resourceIdentifier("teams", team),
    [kind]: resourceIdentifier(targetTypes[kind], target),
  };
  return { method: "POST", path: `/${type}`, body: { data: { type, attributes, relationships } } };
}

export const revokeChange = (type: string, record: string): AccessChange => ({
  method: "DELETE",
  path: `/${type}/${record}`,
});

export const leaveTeamChange = (team: string, username: string): AccessChange => ({
  method: "DELETE",
  path: `/teams/${team}/relationships/users`,
  body: { data: [{ type: "users", id: username }] },
});

export const leaveOrganizationChange = (membership: string): AccessChange => ({
  method: "DELETE",
  path: `/organization-memberships/${membership}`,
});

export const moveChange = (project: string, workspaces: readonly string[]): AccessChange => ({
  method: "POST",
  path: `/projects/${project}/relationships/workspaces`,
  body: { data: workspaces.map((id) => ({ type: "workspaces", id })) },
});
