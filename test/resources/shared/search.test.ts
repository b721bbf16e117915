/** Every list with a text search finds words in any order, in the same way. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Json, useApi } from "../../support/api.ts";
import { data, type Org, resource, unique } from "../../support/builders.ts";
import { makeRun, makeRunnable } from "../../support/runs.ts";

const api = useApi();
let org: Org;
/** Lists of the whole site contain other resources too; none of them has this in its name. */
const mark = unique("m").slice(2);
const wanted = `prod-payments-eu-${mark}`;
/** Each has some of the words. */
const names = [wanted, `prod-${mark}`, `payments_eu-${mark}`];
const spaced = `Payments 50_off in prod ${mark}`;

const nameOf = ({ attributes }: Json): string => attributes.name;
const inOrganization = (rest: string) => () => `/organizations/${org.name}/${rest}`;

/** The path of each list, and the name of a result. */
const lists: Readonly<Record<string, readonly [() => string, (item: Json) => string]>> = {
  workspaces: [inOrganization("workspaces?search[name]="), nameOf],
  projects: [inOrganization("projects?q="), nameOf],
  teams: [inOrganization("teams?q="), nameOf],
  "variable sets": [inOrganization("varsets?q="), nameOf],
  "agent pools": [inOrganization("agent-pools?q="), nameOf],
  tags: [inOrganization("tags?q="), nameOf],
  "organization memberships": [
    inOrganization("organization-memberships?q="),
    ({ attributes }) => attributes.email.split("@")[0],
  ],
  "tokens of teams": [inOrganization("team-tokens?q="), ({ relationships }) => teams[relationships.team.data.id] ?? ""],
  runs: [inOrganization("runs?search[basic]="), ({ attributes }) => attributes.message],
  users: [() => "/admin/users?q=", ({ attributes }) => attributes.username],
  organizations: [() => "/organizations?q=", nameOf],
  "organizations by name": [() => "/organizations?q[name]=", nameOf],
  "organizations of the site": [() => "/admin/organizations?q=", nameOf],
  "agent pools of the site": [() => "/admin/agent-pools?q=", nameOf],
};
const teams: Record<string, string> = {};

beforeAll(async () => {
  org = await api.makeOrganization({ name: wanted });
  for (const name of names.slice(1)) await api.makeOrganization({ name });
  for (const name of names) {
    await api.makeProject(org.name, { name });
    await api.makeVarset(org.name, { name });
    const team = await api.makeTeam(org.name, { name });
    teams[team.id] = name;
    await api.makeTeamToken(team.id);
    data(await api.admin.post(`/organizations/${org.name}/agent-pools`, resource("agent-pools", { name })));
    data(await api.admin.post("/admin/agent-pools", resource("agent-pools", { name })));
    const workspace = await makeRunnable(api, org.name, { name });
    const tag = { data: [{ type: "tags", attributes: { name } }] };
    expect((await api.admin.post(`/workspaces/${workspace.id}/relationships/tags`, tag)).status).toBe(204);
    await makeRun(api.admin, workspace.id, { message: name });
    const { email } = await api.makeUser({ username: name, email: `${name}@example.com` });
    const membership = resource("organization-memberships", { email });
    data(await api.admin.post(`/organizations/${org.name}/organization-memberships`, membership));
  }
  await api.makeProject(org.name, { name: spaced });
});

async function found([path, shows]: readonly [() => string, (item: Json) => string], text: string): Promise<string[]> {
  const answer = await api.admin.get(`${path()}${encodeURIComponent(text)}`);
  const items = data(answer).map(shows);
  // Runs of an organization are not counted.
  expect(answer.body.meta.pagination["total-count"] ?? items.length).toBe(items.length);
  return items.filter((name: string) => name !== spaced).toSorted();
}

describe.each(Object.entries(lists))("%s", (_, list) => {
  it.each([
    [`payments prod ${mark}`, [wanted]],
    [`  EU\t${mark}  Payments `, [`payments_eu-${mark}`, wanted]],
    [`${mark} prod`, [wanted, `prod-${mark}`]],
    [`prod-payments-eu-${mark}`, [wanted]],
    [`prod staging ${mark}`, []],
    [`% ${mark}`, []],
    [`_ ${mark}`, [`payments_eu-${mark}`]],
    [`prod payments eu ${mark} p r o d a y`, [wanted]],
  ])("%j", async (text, expected) => {
    expect(await found(list, text)).toEqual(expected.toSorted());
  });
});

describe("names with blanks", () => {
  it.each([
    [`payments 50_off in prod ${mark}`, 1],
    [`${mark} off% payments`, 0],
    [`${mark} 50_ payments`, 1],
    // From the tenth word on, the rest of the text must match as it is.
    [`p a y m e n t s 5 in prod ${mark}`, 1],
    [`p a y m e n t s 5 prod in ${mark}`, 0],
  ])("%j: %i", async (text, count) => {
    const answer = await api.admin.get(`/organizations/${org.name}/projects?q=${encodeURIComponent(text)}`);
    expect(data(answer).filter((item: Json) => nameOf(item) === spaced)).toHaveLength(count);
  });
});
