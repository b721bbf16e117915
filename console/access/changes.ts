/** Changes of access as the API takes them: first for a preview, then to be applied. */
import type { ThingKind } from "./words.ts";

export interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

export const recordsOf = { project: "team-projects", workspace: "team-workspaces" } as const;
const placesOf = { project: "projects", workspace: "workspaces" } as const;

const named = (type: string, id: string) => ({ data: { type, id } });

/** A new grant; replaces the team's existing grant on the same project or workspace, if any. */
export function giving(
  kind: ThingKind,
  target: string,
  team: string,
  attributes: object,
  record: string | undefined,
): Change {
  const type = recordsOf[kind];
  if (record !== undefined)
    return { method: "PATCH", path: `/${type}/${record}`, body: { data: { type, id: record, attributes } } };
  const relationships = { team: named("teams", team), [kind]: named(placesOf[kind], target) };
  return { method: "POST", path: `/${type}`, body: { data: { type, attributes, relationships } } };
}

export const takingAway = (type: string, record: string): Change => ({ method: "DELETE", path: `/${type}/${record}` });

export const leavingTeam = (team: string, username: string): Change => ({
  method: "DELETE",
  path: `/teams/${team}/relationships/users`,
  body: { data: [{ type: "users", id: username }] },
});

export const leavingOrganization = (membership: string): Change => ({
  method: "DELETE",
  path: `/organization-memberships/${membership}`,
});

export const moving = (project: string, workspaces: readonly string[]): Change => ({
  method: "POST",
  path: `/projects/${project}/relationships/workspaces`,
  body: { data: workspaces.map((id) => ({ type: "workspaces", id })) },
});
