/** Changes of access as the API takes them, for a preview and to apply them. */
import type { Attributes } from "../api/client.ts";
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

/** Stands for the person who takes an offer. */
export const takerId = "$user";

export const joinTeamChange = (team: string, user: string): AccessChange => ({
  method: "POST",
  path: `/teams/${team}/relationships/users`,
  body: { data: [{ type: "users", id: user }] },
});

/** A change that gives access, as its parts. */
export type GivingChange =
  | {
      readonly gives: "grant";
      readonly kind: AccessTargetKind;
      readonly targetId: string;
      readonly teamId: string;
      readonly attributes: Readonly<Record<string, any>> & { readonly access: string };
    }
  | { readonly gives: "seat"; readonly teamId: string; readonly userIds: readonly string[] };

const seatPath = /^\/teams\/([^/]+)\/relationships\/(users|organization-memberships)$/;

/** Undefined for every other change. */
export function givingChangeOf({ method, path, body }: AccessChange): GivingChange | undefined {
  if (method !== "POST") return undefined;
  const place = path.replace(/^\/api\/v2/, "");
  const data = (body as { readonly data?: any } | undefined)?.data;
  for (const kind of ["project", "workspace"] as const) {
    if (place !== `/${grantTypes[kind]}`) continue;
    const teamId: unknown = data?.relationships?.team?.data?.id;
    const targetId: unknown = data?.relationships?.[kind]?.data?.id;
    const attributes = data?.attributes ?? {};
    if (typeof teamId === "string" && typeof targetId === "string" && typeof attributes.access === "string")
      return { gives: "grant", kind, targetId, teamId, attributes };
  }
  const teamId = seatPath.exec(place)?.[1];
  if (teamId === undefined || !Array.isArray(data)) return undefined;
  return { gives: "seat", teamId: decodeURIComponent(teamId), userIds: data.map(({ id }) => String(id)) };
}

/** When the access of a request expires because of its duration; undefined until it is approved. */
export function expiryOf(request: Attributes<"access-requests">): string | undefined {
  const { status, "decided-at": decidedAt, "duration-seconds": seconds } = request;
  if (status !== "approved" || decidedAt === null || seconds === null) return undefined;
  return new Date(Date.parse(decidedAt) + seconds * 1000).toISOString();
}

/** Only new grants and seats can end. */
export const canEnd = (change: AccessChange): boolean => givingChangeOf(change) !== undefined;

interface GrantTerms {
  readonly reason?: string;
  readonly "expires-at"?: string;
}

const isGiven = (value: unknown) => value !== null && value !== undefined && value !== "";

/** Whether one of the new grants and seats has no expiry of its own. */
export const hasUnlimited = (changes: readonly AccessChange[]): boolean =>
  changes.some((change) => canEnd(change) && !expiriesIn(change).every(isGiven));

function expiriesIn({ body }: AccessChange): readonly unknown[] {
  const { data } = body as { readonly data: any };
  const terms: readonly (GrantTerms | undefined)[] = Array.isArray(data)
    ? data.map(({ meta }) => meta)
    : [data.attributes];
  return terms.map((each) => each?.["expires-at"]);
}

/** A change's own value wins. */
const withTerms = (own: object | undefined, terms: GrantTerms): object => ({
  ...own,
  ...terms,
  ...Object.fromEntries(Object.entries(own ?? {}).filter(([, value]) => isGiven(value))),
});

/** Gives new grants and seats a reason and an expiry, unless they have their own. */
export function changesWith(changes: readonly AccessChange[], terms: GrantTerms): readonly AccessChange[] {
  return changes.map((change) => {
    const gives = givingChangeOf(change)?.gives;
    const { data } = (change.body ?? {}) as { readonly data?: any };
    if (gives === "grant")
      return { ...change, body: { data: { ...data, attributes: withTerms(data.attributes, terms) } } };
    if (gives === undefined) return change;
    const seats = data as readonly { readonly meta?: object }[];
    return { ...change, body: { data: seats.map((seat) => ({ ...seat, meta: withTerms(seat.meta, terms) })) } };
  });
}
