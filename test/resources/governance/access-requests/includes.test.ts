/** The requester and the decider that access requests include. */
import { beforeAll, expect, it } from "vitest";
import { approve, makeRequest } from "../../../support/access-requests.ts";
import { type Json, useApi } from "../../../support/api.ts";
import { type Member, type Org } from "../../../support/builders.ts";
import { joining } from "../../../support/previews.ts";

const api = useApi();
let org: Org;
let member: Member;
let team: Json;

beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name, { name: "on-call" });
  member = await api.makeMember(org.name, [(await api.makeTeam(org.name)).id]);
});

it("a request and a list include the requester, and the user who decided", async () => {
  const { id } = await makeRequest(member, org.name, [joining(team.id, member.username)]);
  expect((await approve(org.owner, id)).status).toBe(200);
  const names = async (path: string) =>
    ((await member.get(path)).body.included ?? []).map(({ attributes }: Json) => attributes.username).sort();
  const both = [member.username, org.owner.username].sort();
  expect(await names(`/access-requests/${id}?include=requester,decided_by`)).toEqual(both);
  expect(await names(`/organizations/${org.name}/access-requests?include=requester`)).toEqual([member.username]);
  expect(await names(`/access-requests/${id}`)).toEqual([]);
});
