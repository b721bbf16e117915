/** DELETE /organizations/:organization_name deletes everything in it; a new organization of the same name inherits nothing. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { emptyClosedOrganizations } from "../../../../src/resources/identity/organizations/emptying.ts";
import { data, type Member, type Org, resource } from "../../../support/builders.ts";

import { jobContextOf } from "../../../support/states.ts";

const api = useApi();
let org: Org;
let member: Member;
let team: Json;
let project: Json;
let teamToken: Caller;
let organizationToken: Caller;
beforeEach(async () => {
  org = await api.makeOrganization();
  team = await api.makeTeam(org.name);
  project = await api.makeProject(org.name);
  await api.grantProject(project.id, team.id, "admin");
  member = await api.makeMember(org.name, [team.id]);
  teamToken = await api.makeTeamToken(team.id);
  organizationToken = await api.makeOrganizationToken(org.name);
});

const path = () => `/organizations/${org.name}`;
const again = async () =>
  data(await api.admin.post("/organizations", resource("organizations", { name: org.name, email: "a@b.c" })));

describe("deleteOrganization: success", () => {
  it("answers 204 without a body, and the organization is deleted", async () => {
    const answer = await org.owner.delete(path());
    expect(answer.status).toBe(204);
    expect(answer.body).toBeUndefined();
    for (const caller of [org.owner, member, api.admin]) {
      expect((await caller.get(path())).status).toBe(404);
      expect((await caller.get(`${path()}/projects`)).status).toBe(404);
      expect((await caller.delete(path())).status).toBe(404);
    }
    expect(data(await org.owner.get("/organizations"))).toEqual([]);
  });

  it("deletes its projects, teams and memberships", async () => {
    data(await org.owner.delete(path()));
    for (const gone of [
      `/projects/${project.id}`,
      `/projects/${org.defaultProjectId}`,
      `/teams/${team.id}`,
      `/teams/${org.ownersTeamId}`,
      `/organization-memberships/${member.membershipId}`,
    ]) {
      expect((await api.admin.get(gone)).status).toBe(404);
    }
  });

  it("leaves no row in any table but the audit log, once the job has emptied it", async () => {
    data(await org.owner.delete(path()));
    await emptyClosedOrganizations(jobContextOf(api));
    const { db } = api.database.reader;
    const tables = ["projects", "teams", "teamMembers", "teamProjects", "organizationMemberships", "tokens"] as const;
    for (const table of tables) {
      const rows = await db.selectFrom(table).selectAll().where("organizationId", "=", org.id).execute();
      expect({ table, rows }).toEqual({ table, rows: [] });
    }
    const teamTokens = await db.selectFrom("tokens").select("id").where("teamId", "=", team.id).execute();
    expect(teamTokens).toEqual([]);
  });

  it("revokes the tokens of the organization and its teams, but not users' tokens", async () => {
    expect((await teamToken.get(path())).status).toBe(200);
    expect((await organizationToken.get(path())).status).toBe(200);
    data(await org.owner.delete(path()));
    expect((await teamToken.get("/organizations")).status).toBe(401);
    expect((await organizationToken.get("/organizations")).status).toBe(401);
    expect((await member.get("/account/details")).status).toBe(200);
  });

  it("leaves other organizations alone", async () => {
    const other = await api.makeOrganization();
    const kept = await api.makeProject(other.name);
    data(await org.owner.delete(path()));
    expect((await other.owner.get(`/projects/${kept.id}`)).status).toBe(200);
    expect((await other.owner.get(`/organizations/${other.name}`)).status).toBe(200);
  });

  it("works with the organization's own token, which is deleted with it", async () => {
    expect((await organizationToken.delete(path())).status).toBe(204);
    expect((await organizationToken.get(path())).status).toBe(401);
  });

  it("succeeds for only one of concurrent requests", async () => {
    const answers = await Promise.all(Array.from({ length: 5 }, () => org.owner.delete(path())));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404]);
  });
});

describe("a new organization of the same name", () => {
  it("shows nothing of the old one", async () => {
    data(await org.owner.delete(path()));
    const next = await again();
    expect(next.attributes["external-id"]).not.toBe(org.id);
    const { body } = await api.admin.get(`${path()}/projects`);
    expect(body.data.map((item: Json) => item.attributes.name)).toEqual(["Default Project"]);
    expect(body.data[0].id).not.toBe(org.defaultProjectId);
    expect(body.meta["status-counts"]).toEqual({ total: 1, matching: 1 });
    const teams = data(await api.admin.get(`${path()}/teams`));
    expect(teams.map((item: Json) => item.attributes.name)).toEqual(["owners"]);
    expect(teams[0].id).not.toBe(org.ownersTeamId);
    const events = data(await api.admin.get(`${path()}/audit-events`));
    expect(events.map((event: Json) => event.attributes.action)).toEqual(["organizations.create"]);
  });

  it("rejects the old members and tokens", async () => {
    data(await org.owner.delete(path()));
    await again();
    for (const caller of [org.owner, member]) {
      expect((await caller.get(path())).status).toBe(404);
      expect((await caller.get(`${path()}/projects`)).status).toBe(404);
    }
    for (const caller of [teamToken, organizationToken]) expect((await caller.get(path())).status).toBe(401);
  });
});

describe("deleteOrganization: refused", () => {
  it("403 before 412", async () => {
    const holder = await api.makeHolder(org.name, "manage-projects");
    expect((await holder.delete(path(), undefined, { "if-match": '"x"' })).status).toBe(403);
    expect((await org.owner.get(path())).status).toBe(200);
  });
});
