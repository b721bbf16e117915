/** POST /organizations where the settings let every person create one. */
import { describe, expect, it } from "vitest";
import { useApi } from "../../../support/api.ts";
import {
  data,
  details,
  makeOrganization,
  makeOrganizationToken,
  makeTeamToken,
  makeUser,
  resource,
  unique,
} from "../../../support/builders.ts";

const api = useApi({ options: { organizationCreation: "anyone" } });
const valid = () => resource("organizations", { name: unique("org"), email: "org@example.com" });

describe("createOrganization by anyone", () => {
  it("makes the person the first owner and the only member", async () => {
    const person = await makeUser(api);
    const made = data(await person.post("/organizations", valid()));
    expect(Object.values(made.attributes.permissions)).not.toContain(false);
    expect(data(await person.get(`/organizations/${made.id}`))).toEqual(made);
    expect(data(await person.get("/organizations"))).toEqual([made]);
    const teams = data(await person.get(`/organizations/${made.id}/teams`));
    expect(teams.map((team: { attributes: object }) => team.attributes)).toEqual([
      expect.objectContaining({ name: "owners", "users-count": 1 }),
    ]);
    const members = (await person.get(`/organizations/${made.id}/organization-memberships?include=user`)).body;
    expect(members.data).toHaveLength(1);
    expect(members.data[0].attributes).toMatchObject({ status: "active", email: person.email });
    expect(members.included.map((user: { id: string }) => user.id)).toEqual([person.id]);
  });

  it("gives the person what an owner may", async () => {
    const person = await makeUser(api);
    const { id } = data(await person.post("/organizations", valid()));
    const project = data(await person.post(`/organizations/${id}/projects`, resource("projects", { name: "First" })));
    expect((await person.delete(`/projects/${project.id}`)).status).toBe(204);
    expect((await person.delete(`/organizations/${id}`)).status).toBe(204);
  });

  it("shows it to nobody else but site admins", async () => {
    const { id } = data(await (await makeUser(api)).post("/organizations", valid()));
    expect((await (await makeUser(api)).get(`/organizations/${id}`)).status).toBe(404);
    expect((await api.admin.get(`/organizations/${id}`)).status).toBe(200);
  });

  it("still refuses tokens of teams and organizations, and whoever has none", async () => {
    const org = await makeOrganization(api);
    for (const caller of [await makeTeamToken(api, org.ownersTeamId), await makeOrganizationToken(api, org.name)]) {
      const answer = await caller.post("/organizations", valid());
      expect(answer.status).toBe(403);
      expect(details(answer)[0]).toContain("Only people create organizations");
    }
    expect((await api.nobody.post("/organizations", valid())).status).toBe(401);
  });
});
