/** The organization's token, its audit log token, and the list of team tokens. */
import { beforeEach, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, type Org, pointers, resource } from "../../../support/builders.ts";
import { makeTenant, pathOf, routes } from "../../../support/tenant.ts";

const api = useApi();
const works = async (caller: Caller) => (await caller.get("/account/details")).status === 200;

describe("organization tokens", () => {
  const path = (org: Org) => `/organizations/${org.name}/authentication-token`;

  describe("the organization's token", () => {
    it("201: acts as the organization, and a new one replaces it", async () => {
      const org = await api.makeOrganization();
      const body = resource("authentication-tokens", { description: "sync", "expired-at": null });
      const answer = await org.owner.post(path(org), body);
      expect(answer.status).toBe(201);
      expect(data(answer).attributes.description).toBe("sync");
      expect(data(answer).relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
      const first = api.as(data(answer).attributes.token);
      expect((await first.get(`/organizations/${org.name}/teams`)).status).toBe(200);

      const second = data(await first.post(path(org)));
      expect(second.relationships["created-by"].data).toEqual({ id: org.id, type: "organizations" });
      expect(await works(first)).toBe(false);
      const present = api.as(second.attributes.token);
      expect(await works(present)).toBe(true);
      const shown = data(await org.owner.get(path(org)));
      expect(shown.id).toBe(second.id);
      expect(shown.attributes.token).toBeNull();
      expect(data(await org.owner.get(`/authentication-tokens/${second.id}`)).id).toBe(second.id);
    });

    it("ignores the case of the organization's name", async () => {
      const org = await api.makeOrganization();
      await api.makeOrganizationToken(org.name);
      const answer = await org.owner.get(`/organizations/${org.name.toUpperCase()}/authentication-token`);
      expect(answer.status).toBe(200);
    });

    it("204: revoked; then 404 until there is a new one", async () => {
      const org = await api.makeOrganization();
      expect((await org.owner.get(path(org))).status).toBe(404);
      expect((await org.owner.delete(path(org))).status).toBe(404);
      const token = await api.makeOrganizationToken(org.name);
      expect((await org.owner.delete(path(org), undefined, { "if-match": '"9"' })).status).toBe(412);
      expect((await org.owner.delete(path(org), undefined, { "if-match": '"1"' })).status).toBe(204);
      expect(await works(token)).toBe(false);
      expect((await org.owner.get(path(org))).status).toBe(404);
    });

    it("422: after a rejected replacement the previous token still works", async () => {
      const org = await api.makeOrganization();
      const token = await api.makeOrganizationToken(org.name);
      const body = resource("authentication-tokens", { "expired-at": "2020-01-01T00:00:00Z" });
      expect(pointers(await org.owner.post(path(org), body))).toEqual(["/data/attributes/expired-at"]);
      expect(await works(token)).toBe(true);
    });

    it("403 and 404: members without ownership, whatever they manage; 404: strangers", async () => {
      const org = await api.makeOrganization();
      const token = await api.makeOrganizationToken(org.name);
      const { id } = data(await org.owner.get(path(org)));
      const team = await api.makeTeam(org.name);
      const insiders = [
        await api.makeMember(org.name),
        await api.makeHolder(org.name, "manage-teams", "manage-membership", "manage-organization-access"),
        await api.makeTeamToken(team.id),
      ];
      const outsiders = [await api.makeUser(), (await api.makeOrganization()).owner];
      for (const caller of insiders) expect((await caller.post(path(org))).status).toBe(403);
      for (const caller of outsiders) expect((await caller.post(path(org))).status).toBe(404);
      for (const caller of [...insiders, ...outsiders]) {
        expect((await caller.get(path(org))).status).toBe(404);
        expect((await caller.delete(path(org))).status).toBe(404);
        expect((await caller.get(`/authentication-tokens/${id}`)).status).toBe(404);
        expect((await caller.delete(`/authentication-tokens/${id}`)).status).toBe(404);
      }
      expect(await works(token)).toBe(true);
    });
  });

  describe("listOrganizationTokens", () => {
    const list = (org: Org, query = "") => `/organizations/${org.name}/authentication-tokens${query}`;

    it("200: the token of a kind without its secret, or an empty list", async () => {
      const org = await api.makeOrganization();
      for (const query of ["", "?token=audit-trails"]) {
        const none = await org.owner.get(list(org, query));
        expect([data(none), none.body.meta.pagination["total-count"]]).toEqual([[], 0]);
      }
      await api.makeOrganizationToken(org.name);
      const [shown, ...others] = data(await org.owner.get(list(org)));
      expect(shown).toEqual(data(await org.owner.get(path(org))));
      expect([shown.attributes.token, others]).toEqual([null, []]);
      expect(data(await org.owner.get(list(org, "?token=audit-trails")))).toEqual([]);
    });

    it("403: members without ownership; 404: strangers", async () => {
      const org = await api.makeOrganization();
      await api.makeOrganizationToken(org.name);
      for (const caller of [await api.makeMember(org.name), await api.makeHolder(org.name, "manage-teams")])
        expect((await caller.get(list(org))).status).toBe(403);
      expect((await (await api.makeUser()).get(list(org))).status).toBe(404);
    });
  });

  describe("listOrganizationTeamTokens", () => {
    const list = (org: Org, query = "") => `/organizations/${org.name}/team-tokens${query}`;
    const teamsOf = async (caller: Caller, org: Org, query = ""): Promise<string[]> =>
      data(await caller.get(list(org, query))).map((token: Json) => token.relationships.team.data.id);

    it("200: the tokens of all teams without secrets, and no others", async () => {
      const org = await api.makeOrganization();
      const [one, two] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
      for (const id of [one.id, two.id, org.ownersTeamId]) await api.makeTeamToken(id);
      await api.makeOrganizationToken(org.name);
      const answer = await org.owner.get(list(org));
      expect((await teamsOf(org.owner, org)).toSorted()).toEqual([one.id, two.id, org.ownersTeamId].toSorted());
      expect(data(answer).map((token: Json) => token.attributes.token)).toEqual([null, null, null]);
      expect(answer.body.meta.pagination["total-count"]).toBe(3);
    });

    it("200: the tokens that the caller can manage: the owners team's only for owners, secret teams' only for callers who can see the team", async () => {
      const org = await api.makeOrganization();
      const [open, secret] = [await api.makeTeam(org.name), await api.makeTeam(org.name, { visibility: "secret" })];
      const holder = await api.makeHolder(org.name, "manage-teams");
      const initiated = await api.makeHolder(org.name, "manage-teams", "access-secret-teams");
      const insider = await api.makeHolder(org.name, "manage-teams");
      await org.owner.post(`/teams/${secret.id}/relationships/users`, {
        data: [{ type: "users", id: insider.username }],
      });
      for (const id of [open.id, secret.id, org.ownersTeamId]) await api.makeTeamToken(id);
      const organizationToken = await api.makeOrganizationToken(org.name);
      expect(await teamsOf(holder, org)).toEqual([open.id]);
      for (const caller of [initiated, insider, organizationToken])
        expect((await teamsOf(caller, org)).toSorted()).toEqual([open.id, secret.id].toSorted());
      expect(await teamsOf(api.admin, org)).toHaveLength(3);
    });

    it("200: q is part of the team's name, ignoring case", async () => {
      const org = await api.makeOrganization();
      const [network, storage] = [
        await api.makeTeam(org.name, { name: "network" }),
        await api.makeTeam(org.name, { name: "storage" }),
      ];
      for (const { id } of [network, storage]) await api.makeTeamToken(id);
      expect(await teamsOf(org.owner, org, "?q=NETW")).toEqual([network.id]);
      expect(await teamsOf(org.owner, org, "?q=%25")).toEqual([]);
    });

    it("200: sorted in both directions, with pages", async () => {
      const org = await api.makeOrganization();
      const ids: string[] = [];
      for (const name of ["bravo", "Alpha", "charlie"]) {
        const { id } = await api.makeTeam(org.name, { name });
        await api.makeTeamToken(id);
        ids.push(id);
      }
      const [bravo, alpha, charlie] = ids;
      expect(await teamsOf(org.owner, org, "?sort=team-name")).toEqual([alpha, bravo, charlie]);
      expect(await teamsOf(org.owner, org, "?sort=-team-name")).toEqual([charlie, bravo, alpha]);
      expect(await teamsOf(org.owner, org, "?sort=team-name&page[size]=1&page[number]=2")).toEqual([bravo]);
      expect((await teamsOf(org.owner, org, "?sort=created-by")).toSorted()).toEqual(ids.toSorted());
    });

    it("200: never sorts after every date by expiry, and before every date by last use", async () => {
      const org = await api.makeOrganization();
      const created: Record<string, string> = {};
      for (const [name, expiry] of [
        ["never", null],
        ["late", "2098-01-01T00:00:00Z"],
        ["soon", "2097-01-01T00:00:00Z"],
      ] as const) {
        const team = await api.makeTeam(org.name);
        const body = resource("authentication-tokens", { "expired-at": expiry });
        const token = data(await org.owner.post(`/teams/${team.id}/authentication-tokens`, body));
        created[name] = team.id;
        await api.database.write((tx) =>
          tx.db
            .updateTable("tokens")
            .set({ lastUsedAt: name === "never" ? null : `${name === "late" ? "2020" : "2021"}-01-01T00:00:00.000Z` })
            .where("id", "=", token.id)
            .execute(),
        );
      }
      expect(await teamsOf(org.owner, org, "?sort=expired-at")).toEqual([
        created["soon"],
        created["late"],
        created["never"],
      ]);
      expect(await teamsOf(org.owner, org, "?sort=-expired-at")).toEqual([
        created["never"],
        created["late"],
        created["soon"],
      ]);
      expect(await teamsOf(org.owner, org, "?sort=last-used-at")).toEqual([
        created["never"],
        created["late"],
        created["soon"],
      ]);
      expect(await teamsOf(org.owner, org, "?sort=-last-used-at")).toEqual([
        created["soon"],
        created["late"],
        created["never"],
      ]);
    });

    it("400: an unknown sort key", async () => {
      const org = await api.makeOrganization();
      const answer = await org.owner.get(list(org, "?sort=secret"));
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual(["sort"]);
    });

    it("403: members without manage-teams; 404: strangers", async () => {
      const org = await api.makeOrganization();
      for (const caller of [await api.makeMember(org.name), await api.makeHolder(org.name, "manage-membership")])
        expect((await caller.get(list(org))).status).toBe(403);
      expect((await (await api.makeUser()).get(list(org))).status).toBe(404);
    });
  });
});

describe("the audit log token", () => {
  let org: Org;
  beforeEach(async () => {
    org = await api.makeOrganization();
  });
  const ordinary = (name = org.name) => `/organizations/${name}/authentication-token`;
  const audit = (name = org.name) => `${ordinary(name)}?token=audit-trails`;
  const make = async (name = org.name) => data(await api.admin.post(audit(name)));

  describe("created by an owner", () => {
    it("201: works together with the ordinary token, and a new one replaces only it", async () => {
      const organizationToken = await api.makeOrganizationToken(org.name);
      const first = await org.owner.post(audit(), resource("authentication-tokens", { description: "to the archive" }));
      expect(first.status).toBe(201);
      expect(data(first).attributes.description).toBe("to the archive");
      expect(data(first).relationships.organization.data).toEqual({ id: org.name, type: "organizations" });
      const second = data(await org.owner.post(audit()));
      expect(await works(api.as(data(first).attributes.token))).toBe(false);
      expect(await works(api.as(second.attributes.token))).toBe(true);
      expect(await works(organizationToken)).toBe(true);
      await api.makeOrganizationToken(org.name);
      expect(await works(organizationToken)).toBe(false);
      expect(await works(api.as(second.attributes.token))).toBe(true);
    });

    it("200: each has its own route and is shown without the secret", async () => {
      expect((await org.owner.get(audit())).status).toBe(404);
      const created = await make();
      expect((await org.owner.get(ordinary())).status).toBe(404);
      await api.makeOrganizationToken(org.name);
      const [one, other] = [data(await org.owner.get(ordinary())), data(await org.owner.get(audit()))];
      expect(other.id).toBe(created.id);
      expect(one.id).not.toBe(created.id);
      expect(other.attributes.token).toBeNull();
      expect(data(await org.owner.get(`/authentication-tokens/${created.id}`)).id).toBe(created.id);
    });

    it("204: revokes only this token; then 404 until there is a new one", async () => {
      const created = api.as((await make()).attributes.token);
      const organizationToken = await api.makeOrganizationToken(org.name);
      expect((await org.owner.delete(audit(), undefined, { "if-match": '"9"' })).status).toBe(412);
      expect((await org.owner.delete(audit())).status).toBe(204);
      expect([await works(created), await works(organizationToken)]).toEqual([false, true]);
      expect((await org.owner.get(audit())).status).toBe(404);
      expect((await org.owner.delete(audit())).status).toBe(404);
      expect((await org.owner.get(ordinary())).status).toBe(200);
    });

    it("400: an unknown kind of token", async () => {
      for (const method of ["GET", "POST", "DELETE"]) {
        const answer = await org.owner.send(method, `${ordinary()}?token=everything`);
        expect(answer.status).toBe(400);
        expect(pointers(answer)).toEqual(["token"]);
      }
    });

    it("permissions: owners and the ordinary token; 403 and 404 for all others, including itself", async () => {
      const organizationToken = await api.makeOrganizationToken(org.name);
      for (const caller of [org.owner, api.admin, organizationToken])
        expect((await caller.post(audit())).status).toBe(201);
      const team = await api.makeTeamToken((await api.makeTeam(org.name)).id);
      for (const caller of [await api.makeMember(org.name), team])
        expect([(await caller.post(audit())).status, (await caller.get(audit())).status]).toEqual([403, 404]);
      const auditLogToken = api.as((await make()).attributes.token);
      for (const caller of [await api.makeUser(), (await api.makeOrganization()).owner, auditLogToken])
        for (const method of ["POST", "GET", "DELETE"]) expect((await caller.send(method, audit())).status).toBe(404);
      expect((await auditLogToken.post(ordinary())).status).toBe(404);
      expect(await works(organizationToken)).toBe(true);
    });
  });

  describe("with the audit log token", () => {
    it("200: the audit log of its organization; 404: another's", async () => {
      const token = api.as((await make()).attributes.token);
      const auditLog = await token.get(`/organizations/${org.name}/audit-events`);
      expect(auditLog.status).toBe(200);
      expect(auditLog.body).toEqual((await org.owner.get(`/organizations/${org.name}/audit-events`)).body);
      const other = await api.makeOrganization();
      expect((await token.get(`/organizations/${other.name}/audit-events`)).status).toBe(404);
    });

    it("its account is a service account of the organization", async () => {
      const token = api.as((await make()).attributes.token);
      expect(data(await token.get("/account/details"))).toMatchObject({
        id: org.id,
        attributes: { username: `api-audit-trails-${org.name}`, "is-service-account": true, "is-site-admin": false },
      });
    });

    it("gives access to no other route", async () => {
      const tenant = await makeTenant(api);
      const token = api.as((await make(tenant.name)).attributes.token);
      // Routes that need no token work with this one, too.
      const allowed = new Set(["listAuditEvents", "listAuditTrails", "showAccount", "showSignInOptions"]);
      for (const { id, operation } of routes) {
        if (operation.isSigned || allowed.has(id)) continue;
        const answer = await token.send(operation.method, pathOf(operation, tenant.params), operation.example);
        if (id === "listOrganizations") expect(answer.body.data).toEqual([]);
        else expect([id, answer.status >= 400 && answer.status < 500]).toEqual([id, true]);
      }
    });
  });
});
