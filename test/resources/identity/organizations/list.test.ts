/** GET /organizations: whose organizations are shown, found and paged. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import {
  data,
  makeMember,
  makeOrganization,
  makeOrganizationToken,
  makeTeam,
  makeTeamToken,
  makeUser,
  type Person,
  pointers,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi();
let person: Person;
const names = ["Zeta", "alpha", "be_ta", "beXta", "gamma"];
let othersName: string;

beforeAll(async () => {
  person = await makeUser(api);
  for (const name of names) {
    await makeOrganization(api, { name, email: `${name}-Mail@example.com` });
    await join(name, person.email);
  }
  othersName = (await makeOrganization(api)).name;
});

const join = async (name: string, email: string) =>
  data(
    await api.admin.post(
      `/organizations/${name}/organization-memberships`,
      resource(
        "organization-memberships",
        { email },
        { teams: { data: [{ type: "teams", id: await ownersOf(name) }] } },
      ),
    ),
  );
const ownersOf = async (name: string): Promise<string> =>
  data(await api.admin.get(`/organizations/${name}/teams?filter[names]=owners`))[0].id;
const namesFor = async (caller: Caller, query = ""): Promise<string[]> =>
  data(await caller.get(`/organizations${query}`)).map((organization: Json) => organization.id);

describe("listOrganizations: whose", () => {
  it("shows a person those in which the person is an active member, by name", async () => {
    const answer = await person.get("/organizations");
    expect(answer.status).toBe(200);
    expect(answer.body.data.map(({ id }: Json) => id)).toEqual(["alpha", "be_ta", "beXta", "gamma", "Zeta"]);
    expect(answer.body.meta.pagination).toEqual({
      "current-page": 1,
      "page-size": 20,
      "prev-page": null,
      "next-page": null,
      "total-pages": 1,
      "total-count": 5,
    });
    for (const organization of answer.body.data) {
      expect(data(await person.get(`/organizations/${organization.id}`))).toEqual(organization);
    }
  });

  it("shows a stranger none", async () => {
    const answer = await (await makeUser(api)).get("/organizations");
    expect(answer.body.data).toEqual([]);
    expect(answer.body.meta.pagination["total-count"]).toBe(0);
  });

  it("shows a member without teams the organization, with what a member may", async () => {
    const member = await makeMember(api, "alpha");
    const [shown] = data(await member.get("/organizations"));
    expect(shown.id).toBe("alpha");
    expect(shown.attributes.permissions).toMatchObject({ "can-traverse": true, "can-update": false });
  });

  it("no longer shows it to whoever left", async () => {
    const member = await makeMember(api, "alpha");
    expect(await namesFor(member)).toEqual(["alpha"]);
    data(await api.admin.delete(`/organization-memberships/${member.membershipId}`));
    expect(await namesFor(member)).toEqual([]);
  });

  it("shows a team's or an organization's token its own", async () => {
    const team = await makeTeam(api, "gamma");
    expect(await namesFor(await makeTeamToken(api, team.id))).toEqual(["gamma"]);
    expect(await namesFor(await makeOrganizationToken(api, "be_ta"))).toEqual(["be_ta"]);
  });

  it("shows a site admin all", async () => {
    expect(await namesFor(api.admin, "?page[size]=100")).toEqual(expect.arrayContaining([...names, othersName]));
    const admin = await makeUser(api, { "is-site-admin": true });
    expect(await namesFor(admin, "?page[size]=100")).toEqual(expect.arrayContaining([...names, othersName]));
  });

  it("is 401 without a token", async () => {
    expect((await api.nobody.get("/organizations")).status).toBe(401);
  });
});

describe("listOrganizations: found", () => {
  it.each([
    ["?q[name]=ETA", ["Zeta"]],
    ["?q[name]=be_ta", ["be_ta"]],
    ["?q[name]=%25", []],
    ["?q[name]=mail", []],
    ["?q[name]=", ["alpha", "be_ta", "beXta", "gamma", "Zeta"]],
    ["?q=mm", ["gamma"]],
    ["?q=ALPHA-mail", ["alpha"]],
    ["?q=mail%40EXAMPLE", ["alpha", "be_ta", "beXta", "gamma", "Zeta"]],
    ["?q=_", ["be_ta"]],
    ["?q=nothing", []],
    ["?q=mail&q[name]=zet", ["Zeta"]],
  ])("%s", async (query, expected) => {
    const answer = await person.get(`/organizations${query}`);
    expect(answer.body.data.map(({ id }: Json) => id)).toEqual(expected);
    expect(answer.body.meta.pagination["total-count"]).toBe(expected.length);
  });

  it("finds nothing of what the caller may not see", async () => {
    expect(await namesFor(person, `?q=${othersName}`)).toEqual([]);
  });
});

describe("listOrganizations: pages", () => {
  it("leads by 'next' over every organization once", async () => {
    const seen: string[] = [];
    let next: string | null = "/api/v2/organizations?page[size]=2";
    while (next !== null) {
      const { body }: { body: Json } = await person.get(next);
      seen.push(...body.data.map(({ id }: Json) => id));
      next = body.links.next;
    }
    expect(seen).toEqual(["alpha", "be_ta", "beXta", "gamma", "Zeta"]);
  });

  it("is empty past the end, with the right totals", async () => {
    const { status, body } = await person.get("/organizations?page[size]=2&page[number]=9");
    expect(status).toBe(200);
    expect(body.data).toEqual([]);
    expect(body.meta.pagination).toMatchObject({
      "total-count": 5,
      "total-pages": 3,
      "prev-page": 3,
      "next-page": null,
    });
  });

  it("takes a size over 100 as 100, and refuses what is no number", async () => {
    const large = await person.get("/organizations?page[size]=500");
    expect(large.body.meta.pagination["page-size"]).toBe(100);
    const bad = await person.get("/organizations?page[size]=0&page[number]=x&include=moon");
    expect(bad.status).toBe(400);
    expect(pointers(bad).sort()).toEqual(["include", "page[number]", "page[size]"]);
  });

  it("shows an organization that was just made", async () => {
    const name = unique("fresh");
    await makeOrganization(api, { name });
    expect(await namesFor(api.admin, `?q[name]=${name}`)).toEqual([name]);
  });
});
