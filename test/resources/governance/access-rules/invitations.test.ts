/** Access rules when an invited person joins: only then do rules know the person. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource, unique } from "../../../support/builders.ts";
import { scan } from "../access-violations/support.ts";
import { everything, makeRule, removeRule, whileRuled } from "./support.ts";

const api = useApi();
let org: Org;
let team: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
});

async function invite(by: Caller, email = `${unique("invited")}@example.com`): Promise<string> {
  const body = resource("organization-memberships", { email }, { teams: { data: [{ type: "teams", id: team.id }] } });
  const { attributes } = data(await by.post(`/organizations/${org.name}/organization-memberships`, body));
  return String(attributes["invitation-url"]).replace(/^.*\//, "");
}

it("403 for the person whom a rule keeps out, and nothing changes; as given by the one who invited", async () => {
  const owner = data(await org.owner.get("/account/details"));
  const secret = await invite(org.owner);
  const person = await api.makeUser();
  const policy = `@message("Known people only.") forbid (principal == User::"${owner.id}", action == Action::"addMember", resource == Team::"${team.id}") when { context has user && context.user == User::"${person.id}" };`;
  const rule = await makeRule(org, { policy });
  const refused = await person.post(`/invitations/${secret}/actions/accept`);
  expect(refused.status).toBe(403);
  expect(details(refused)[0]).toContain("Known people only.");
  expect((await person.get(`/organizations/${org.name}`)).status).toBe(404);
  await removeRule(org, rule);
  expect((await person.post(`/invitations/${secret}/actions/accept`)).status).toBe(200);
});

it("a member of the organization joins the teams of an invitation that is listed as a violation", async () => {
  const secret = await invite(org.owner);
  const person = await api.makeMember(org.name);
  const policy = `forbid (principal, action == Action::"addMember", resource == Team::"${team.id}") unless { context has user };`;
  await whileRuled(org, { policy }, async () => {
    await scan(api);
    const answer = await person.post(`/invitations/${secret}/actions/accept`);
    expect(data(answer).relationships.teams.data).toEqual([{ type: "teams", id: team.id }]);
    const { body } = await org.owner.get(`/organizations/${org.name}/access-violations`);
    expect(body.data).toEqual([]);
  });
});

describe("an account whose address has invitations", () => {
  const teamsOf = async (userId: string) => {
    const { body } = await org.owner.get(`/organizations/${org.name}/organization-memberships?page[size]=100`);
    const own = body.data.find(({ relationships }: Json) => relationships.user.data?.id === userId);
    return own?.relationships.teams.data.map(({ id }: Json) => id);
  };
  const refusals = async () =>
    (await org.owner.get(`/organizations/${org.name}/audit-events?filter[action]=teams.refuse-member`)).body.data;

  it("is created, and joins the organization without the teams that a rule keeps it out of", async () => {
    const email = `${unique("invited")}@example.com`;
    await invite(org.owner, email);
    const policy = `forbid (principal, action, resource == Team::"${team.id}");`;
    await whileRuled(org, { policy, name: "Keep out" }, async (rule) => {
      const person = await api.makeUser({ email });
      expect(await teamsOf(person.id)).toEqual([]);
      expect((await refusals())[0]).toMatchObject({
        attributes: {
          "subject-id": team.id,
          "subject-name": team.attributes?.name ?? team.name,
          after: { username: person.username, rule: rule.id, "rule-name": "Keep out" },
        },
      });
    });
  });

  it("changes its address, and joins the organization without the teams that a rule keeps it out of", async () => {
    const person = await api.makeUser();
    const email = `${unique("invited")}@example.com`;
    await invite(org.owner, email);
    await whileRuled(org, { policy: everything }, async () => {
      const body = resource("users", { email });
      data(await api.admin.patch(`/admin/users/${person.id}`, body));
      expect(await teamsOf(person.id)).toEqual([]);
    });
  });
});
