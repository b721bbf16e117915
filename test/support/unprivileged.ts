/** Callers who can see an organization but have no permissions in it. */
import type { Answer, Api, Caller } from "./api.ts";
import { data, makeMember, makeTeam, makeTeamToken, type Org } from "./builders.ts";
import { makePool } from "./agent-callers.ts";
import type { Tenant } from "./tenant.ts";

export type UnprivilegedCallers = readonly (readonly [kind: string, caller: Caller])[];

export async function makeUnprivileged(api: Api, org: Org): Promise<UnprivilegedCallers> {
  const team = await makeTeam(api, org.name);
  return [
    ["a member without a team", await makeMember(api, org.name)],
    ["the token of a team without a grant", await makeTeamToken(api, team.id)],
  ];
}

/** 404 counts, because it hides that the resource exists. */
export const isRefused = ({ status }: Answer): boolean => status === 403 || status === 404;

export async function makeNonMembers(api: Api, org: Tenant) {
  const former = await makeMember(api, org.name);
  data(await org.owner.delete(`/organization-memberships/${former.membershipId}`));
  const audit = await org.owner.post(`/organizations/${org.name}/authentication-token?token=audit-trails`);
  return {
    former,
    agent: (await makePool(api, org)).agent,
    audit: api.as(data(audit).attributes.token),
    organization: org.callers["organization token"],
  };
}
export type NonMember = keyof Awaited<ReturnType<typeof makeNonMembers>>;

const allNonMembers: readonly NonMember[] = ["former", "agent", "audit"];
/** Operations that every member can call, with the callers that are refused instead. */
export const refusedToNonMembers: Readonly<Record<string, readonly NonMember[] | "altered path" | "altered body">> = {
  createSession: "altered body",
  deleteSessions: ["agent", "audit", "organization"],
  listAgentPools: allNonMembers,
  listAgents: allNonMembers,
  listOrganizationMemberships: allNonMembers,
  listOrganizationTags: allNonMembers,
  listReservedTagKeys: allNonMembers,
  listSshKeys: allNonMembers,
  readLog: "altered path",
  registerByInvitation: "altered path",
  showAccessRuleSchema: allNonMembers,
  showAccount: ["agent"],
  showAgent: allNonMembers,
  showAgentPool: allNonMembers,
  showAgentPoolQueue: allNonMembers,
  showEntitlementSet: allNonMembers,
  showInvitation: "altered path",
  showOrganization: allNonMembers,
  showOrganizationCapacity: allNonMembers,
  showOrganizationDataRetentionPolicy: allNonMembers,
  showOrganizationMembership: allNonMembers,
  showSshKey: allNonMembers,
  uploadConfiguration: "altered path",
  uploadJsonState: "altered path",
  uploadState: "altered path",
};
