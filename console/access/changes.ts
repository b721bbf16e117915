/** Changes of access as the API takes them: to be asked about first, and made as they were asked about. */
import type { ThingKind } from "./words.ts";

export interface Change {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

export const recordsOf = { project: "team-projects", workspace: "team-workspaces" } as const;
const placesOf = { project: "projects", workspace: "workspaces" } as const;

const named = (type: string, id: string) => ({ data: { type, id } });

/** A new grant, or, where the team has a record there already, another one in its place. */
export function giving(
  kind: ThingKind,
  place: string,
  team: string,
  attributes: object,
  record: string | undefined,
): Change {
  const type = recordsOf[kind];
  if (record !== undefined)
    return { method: "PATCH", path: `/${type}/${record}`, body: { data: { type, id: record, attributes } } };
  const relationships = { team: named("teams", team), [kind]: named(placesOf[kind], place) };
  return { method: "POST", path: `/${type}`, body: { data: { type, attributes, relationships } } };
}

export const takingAway = (type: string, record: string): Change => ({ method: "DELETE", path: `/${type}/${record}` });

/** A team's people are named by their user names. */
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
