/** Callers of an organization who may see it and hold nothing in it. */
import type { Answer, Api, Caller } from "./api.ts";
import { makeMember, makeTeam, makeTeamToken, type Org } from "./builders.ts";

export type Lowly = readonly (readonly [kind: string, caller: Caller])[];

export async function makeLowly(api: Api, org: Org): Promise<Lowly> {
  const team = await makeTeam(api, org.name);
  return [
    ["a member without a team", await makeMember(api, org.name)],
    ["the token of a team without a grant", await makeTeamToken(api, team.id)],
  ];
}

/** Refused, or not told that the thing is there. */
export const isRefused = ({ status }: Answer): boolean => status === 403 || status === 404;
