/** Creates access offers for tests. */
import type { Caller, Json } from "./api.ts";
import { data, onProject, resource, unique } from "./builders.ts";

export const offersOf = (organization: string) => `/organizations/${organization}/access-offers`;

export const teamsNamed = (...ids: readonly string[]) => ({ data: ids.map((id) => ({ type: "teams", id })) });

/** A seat in the team, for the person who takes the offer. */
export const seatIn = (teamId: string, meta?: object): Json => ({
  method: "POST",
  path: `/api/v2/teams/${teamId}/relationships/users`,
  body: { data: [{ type: "users", id: "$user", ...(meta && { meta }) }] },
});

export const membershipIn = (teamId: string): Json => ({
  method: "POST",
  path: `/api/v2/teams/${teamId}/relationships/organization-memberships`,
  body: { data: [{ type: "organization-memberships", id: "$user" }] },
});

export const grantOn = (projectId: string, teamId: string, attributes: object = { access: "write" }): Json => ({
  method: "POST",
  path: "/api/v2/team-projects",
  body: resource("team-projects", attributes, onProject(projectId, teamId)),
});

export const offer = (changes: readonly Json[], eligible: readonly string[], attributes: object = {}): Json =>
  resource(
    "access-offers",
    { name: unique("offer"), changes, "duration-seconds-max": 3600, ...attributes },
    { "eligible-teams": teamsNamed(...eligible) },
  );

export const makeOffer = async (
  caller: Caller,
  organization: string,
  changes: readonly Json[],
  eligible: readonly string[],
  attributes: object = {},
): Promise<Json> => data(await caller.post(offersOf(organization), offer(changes, eligible, attributes)));

export const takeBody = (attributes: object = {}): Json =>
  resource("access-offers", { reason: "Incident 4711", ...attributes });
