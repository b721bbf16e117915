/** Access rules when an invited person joins: only then do rules know the person. */
import { beforeAll, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Org, resource, unique } from "../../../support/builders.ts";
import { makeRule } from "./support.ts";

const api = useApi();
let org: Org;
let team: Json;
beforeAll(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
});

async function invite(by: Caller): Promise<string> {
  const body = resource(
    "organization-memberships",
    { email: `${unique("invited")}@example.com` },
    { teams: { data: [{ type: "teams", id: team.id }] } },
  );
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
  data(await org.owner.delete(`/access-rules/${rule.id}`));
  expect((await person.post(`/invitations/${secret}/actions/accept`)).status).toBe(200);
});
