/** Violations: access that an enabled rule would refuse today is listed for owners, and leaves the list when it is in order. */
import { sql } from "kysely";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { useApi, type Json } from "../../../support/api.ts";
import { data, details, onProject, type Org, resource } from "../../../support/builders.ts";
import { inMs } from "../../../support/clock.ts";
import { makeRule, scan, violationsOf } from "./support.ts";

const api = useApi();
const hourMs = 3_600_000;
const noAdmins = `@message("Admin access needs a request.")
forbid (principal, action in [Action::"grant", Action::"update"], resource)
when { context has access && context.access == "admin" };`;
const noEndlessSeats = `forbid (principal, action == Action::"addMember", resource) unless { context has expiresInSeconds };`;
const noTokens = `forbid (principal, action == Action::"createToken", resource);`;

let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const listed = async (of: Org = org) =>
  (await violationsOf(of)).data.map(({ attributes, relationships }: Json) => ({
    kind: attributes.kind,
    ...Object.fromEntries(
      Object.entries<Json>(relationships).flatMap(([name, { data: link }]) => (link === null ? [] : [[name, link.id]])),
    ),
  }));

it("filter[rule] lists those of one rule", async () => {
  const own = await api.makeOrganization();
  const team = await api.makeTeam(own.name);
  await api.makeTeamToken(team.id);
  await api.makeTeamProject((await api.makeProject(own.name)).id, team.id, { access: "admin" });
  const [admins, tokens] = [await makeRule(own, noAdmins), await makeRule(own, noTokens)];
  await scan(api);
  expect(await violationsOf(own)).toMatchObject({ meta: { pagination: { "total-count": 2 } } });
  for (const [{ id }, kind] of [
    [admins, "grant"],
    [tokens, "token"],
  ] as const)
    expect(await violationsOf(own, `?filter[rule]=${id}`)).toMatchObject({
      data: [{ attributes: { kind }, relationships: { rule: { data: { id } } } }],
      meta: { pagination: { "total-count": 1 } },
    });
  expect((await violationsOf(own, "?filter[rule]=arul-1234567890abcdef")).data).toEqual([]);
});

describe("the job access-violations", () => {
  it("scans an organization also if the scan of another one fails", async () => {
    const pair = [await api.makeOrganization(), await api.makeOrganization()];
    const [first, second] = pair.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [Org, Org];
    for (const { name } of [...pair, first]) await api.makeTeamToken((await api.makeTeam(name)).id);
    for (const own of pair) await makeRule(own, noTokens);
    const execute = (statement: string) => api.database.write((tx) => sql.raw(statement).execute(tx.db));
    await execute(
      `create unique index one_violation on access_violations (organization_id) where organization_id = '${first.id}'`,
    );
    await expect(scan(api)).rejects.toThrow();
    expect(await listed(second)).toHaveLength(1);
    await execute("drop index one_violation");
    await scan(api);
    expect(await listed(first)).toHaveLength(2);
  });

  it("lists a grant, a seat and tokens that enabled rules would refuse, with the rule's message", async () => {
    const project = await api.makeProject(org.name);
    const workspace = await api.makeWorkspace(org.name);
    const team = await api.makeTeam(org.name);
    const other = await api.makeTeam(org.name);
    const member = await api.makeMember(org.name, [team.id]);
    await api.makeTeamProject(project.id, team.id, { access: "admin" });
    await api.makeTeamProject(project.id, other.id, { access: "write" });
    await api.makeTeamWorkspace(workspace.id, other.id, { access: "admin" });
    await api.makeTeamToken(other.id);
    await api.makeOrganizationToken(org.name);
    data(await org.owner.post(`/organizations/${org.name}/authentication-token?token=audit-trails`));
    const admins = await makeRule(org, noAdmins);
    const seats = await makeRule(org, noEndlessSeats, { name: "Seats end" });
    const tokens = await makeRule(org, noTokens, { enforcement: "approval" });
    expect(await violationsOf(org)).toMatchObject({ data: [], meta: { "computed-at": null } });

    await scan(api);

    const { data: all, meta } = await violationsOf(org);
    expect(meta["computed-at"]).toEqual(expect.any(String));
    expect(meta.pagination["total-count"]).toBe(all.length);
    const found = await listed();
    expect(found).toEqual(
      expect.arrayContaining([
        { kind: "grant", rule: admins.id, team: team.id, project: project.id },
        { kind: "grant", rule: admins.id, team: other.id, workspace: workspace.id },
        { kind: "seat", rule: seats.id, team: team.id, user: member.id },
        { kind: "seat", rule: seats.id, team: org.ownersTeamId, user: org.owner.id },
        // Of the site admin who created the organization.
        { kind: "seat", rule: seats.id, team: org.ownersTeamId, user: expect.any(String) },
        { kind: "token", rule: tokens.id, team: other.id },
        { kind: "token", rule: tokens.id },
      ]),
    );
    // The tokens of the organization and of its audit log have no team.
    expect(found.filter(({ kind }: Json) => kind === "token")).toHaveLength(3);
    expect(found).toHaveLength(8);
    const messageOf = (rule: Json) =>
      all.find((one: Json) => one.relationships.rule.data.id === rule.id).attributes.message;
    expect([messageOf(admins), messageOf(seats)]).toEqual(["Admin access needs a request.", "Seats end"]);
  });

  it("keeps since and id of what it finds again", async () => {
    const before = (await violationsOf(org)).data;
    await org.owner.post(`/organizations/${org.name}/access-violations/actions/refresh`);
    await scan(api);
    expect((await violationsOf(org)).data).toEqual(before);
  });

  it("leaves advice, disabled rules and what was revoked out, the latter two before the next scan", async () => {
    const own = await api.makeOrganization();
    const team = await api.makeTeam(own.name);
    const [one, two] = [await api.makeProject(own.name), await api.makeProject(own.name)];
    const grant = await api.makeTeamProject(one.id, team.id, { access: "admin" });
    await api.makeTeamProject(two.id, team.id, { access: "admin" });
    await makeRule(own, noAdmins, { enforcement: "advise" });
    const rule = await makeRule(own, noAdmins);
    await scan(api);
    expect(await listed(own)).toHaveLength(2);
    data(await own.owner.delete(`/team-projects/${grant.id}`));
    expect(await listed(own)).toEqual([{ kind: "grant", rule: rule.id, team: team.id, project: two.id }]);
    data(await own.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { enabled: false })));
    expect(await listed(own)).toEqual([]);
    await scan(api);
    data(await own.owner.patch(`/access-rules/${rule.id}`, resource("access-rules", { enabled: true })));
    expect(await listed(own)).toEqual([]);
    await scan(api);
    expect(await listed(own)).toHaveLength(1);
    data(await own.owner.delete(`/access-rules/${rule.id}`));
    expect(await listed(own)).toEqual([]);
  });

  it("removes a violation whose grant a rule now accepts", async () => {
    const own = await api.makeOrganization();
    const team = await api.makeTeam(own.name);
    const grant = await api.makeTeamProject(own.defaultProjectId, team.id, { access: "admin" });
    await makeRule(own, noAdmins);
    await scan(api);
    expect(await listed(own)).toHaveLength(1);
    data(await own.owner.patch(`/team-projects/${grant.id}`, resource("team-projects", { access: "write" })));
    await own.owner.post(`/organizations/${own.name}/access-violations/actions/refresh`);
    await scan(api);
    expect(await listed(own)).toEqual([]);
  });

  it("evaluates the time that is left, and leaves out what has expired", async () => {
    const own = await api.makeOrganization();
    const team = await api.makeTeam(own.name);
    const [short, long] = [await api.makeProject(own.name), await api.makeProject(own.name)];
    const until = (hours: number) => ({ access: "read", "expires-at": inMs(hours * hourMs) });
    const brief = await api.makeTeamProject(short.id, team.id, until(1));
    await api.makeTeamProject(long.id, team.id, until(9));
    const policy = `forbid (principal, action == Action::"grant", resource)
      unless { context has expiresInSeconds && context.expiresInSeconds <= 28800 };`;
    await makeRule(own, policy);
    await scan(api);
    expect(await listed(own)).toMatchObject([{ project: long.id }]);
    await makeRule(own, `forbid (principal, action == Action::"grant", resource);`);
    await scan(api);
    expect(await listed(own)).toHaveLength(3);
    await api.database.write((tx) =>
      tx.db
        .updateTable("teamProjects")
        .set({ expiresAt: inMs(-1000) })
        .where("id", "=", brief.id)
        .execute(),
    );
    expect(await listed(own)).toHaveLength(2);
  });

  it("leaves out tokens that have expired since the scan", async () => {
    const own = await api.makeOrganization();
    const { id } = await api.makeTeam(own.name);
    await api.makeTeamToken(id);
    await api.database.write((tx) =>
      tx.db
        .updateTable("tokens")
        .set({ expiredAt: inMs(4000) })
        .where("teamId", "=", id)
        .execute(),
    );
    await makeRule(own, noTokens);
    await scan(api);
    expect(await listed(own)).toHaveLength(1);
    await vi.waitFor(async () => expect(await listed(own)).toEqual([]), { timeout: 8000, interval: 250 });
    expect(await violationsOf(own)).toMatchObject({ meta: { pagination: { "total-count": 0 } } });
  });

  it("meta.computed-at is when the scan started: a rule that changed during it was not evaluated completely", async () => {
    const own = await api.makeOrganization();
    await api.makeTeamToken((await api.makeTeam(own.name)).id);
    await makeRule(own, noTokens);
    const before = Date.now();
    await scan(api);
    const { data: all, meta } = await violationsOf(own);
    const computed = Date.parse(meta["computed-at"]);
    expect(computed).toBeGreaterThanOrEqual(before);
    expect(computed).toBeLessThanOrEqual(Date.parse(all[0].attributes.since));
  });

  it("names who granted the access as the principal, and the organization if nobody is known", async () => {
    const own = await api.makeOrganization();
    const team = await api.makeTeam(own.name);
    const [one, two] = [await api.makeProject(own.name), await api.makeProject(own.name)];
    data(
      await own.owner.post(
        "/team-projects",
        resource(
          "team-projects",
          { access: "read" },
          {
            project: { data: { type: "projects", id: one.id } },
            team: { data: { type: "teams", id: team.id } },
          },
        ),
      ),
    );
    const unknown = await api.makeTeamProject(two.id, team.id);
    await api.database.write((tx) =>
      tx.db.updateTable("teamProjects").set({ grantedById: null }).where("id", "=", unknown.id).execute(),
    );
    const policy = (principal: string) => `forbid (${principal}, action == Action::"grant", resource);`;
    const byOwner = await makeRule(own, policy(`principal == User::"${own.owner.id}"`));
    const byOrganization = await makeRule(own, policy(`principal == Organization::"${own.name}"`));
    await scan(api);
    expect(await listed(own)).toEqual(
      expect.arrayContaining([
        { kind: "grant", rule: byOwner.id, team: team.id, project: one.id },
        { kind: "grant", rule: byOrganization.id, team: team.id, project: two.id },
      ]),
    );
    expect(await listed(own)).toHaveLength(2);
  });

  it("leaves out what an approved request gave, but not what break-glass access did", async () => {
    const own = await api.makeOrganization();
    const team = await api.makeTeam(own.name, { visibility: "organization" });
    const grant = onProject(own.defaultProjectId, team.id);
    await makeRule(own, noAdmins, { enforcement: "approval" });
    const requester = await api.makeMember(own.name, [
      (await api.makeTeam(own.name, { "organization-access": { "read-projects": true } })).id,
    ]);
    const change = {
      method: "POST",
      path: "/api/v2/team-projects",
      body: resource("team-projects", { access: "admin" }, grant),
    };
    const body = resource("access-requests", { reason: "a test", changes: [change] });
    const request = data(await requester.post(`/organizations/${own.name}/access-requests`, body));
    const { attributes } = data(await own.owner.get(`/access-requests/${request.id}`));
    const decision = resource("access-requests", { "access-version": attributes["access-version"] });
    data(await own.owner.post(`/access-requests/${request.id}/actions/approve`, decision));
    await scan(api);
    expect(await listed(own)).toEqual([]);
    await api.database.write((tx) =>
      tx.db.updateTable("accessRequests").set({ decidedById: null }).where("id", "=", request.id).execute(),
    );
    await own.owner.post(`/organizations/${own.name}/access-violations/actions/refresh`);
    await scan(api);
    expect(await listed(own)).toMatchObject([{ kind: "grant", team: team.id, project: own.defaultProjectId }]);
  });

  it("computes again after an hour", async () => {
    const own = await api.makeOrganization();
    await makeRule(own, noAdmins);
    await scan(api);
    const setComputed = (computedMs: number) =>
      api.database.write((tx) =>
        tx.db.updateTable("accessViolationScans").set({ computedMs }).where("organizationId", "=", own.id).execute(),
      );
    const longAgo = Date.now() - hourMs;
    await setComputed(longAgo);
    await scan(api);
    expect(Date.parse((await violationsOf(own)).meta["computed-at"])).toBeGreaterThan(longAgo);
  });

  it("needs statements by batches and not by grants", async () => {
    const counted = async (projects: number) => {
      const own = await api.makeOrganization();
      const team = await api.makeTeam(own.name);
      for (let made = 0; made < projects; made += 1)
        await api.makeTeamProject((await api.makeProject(own.name)).id, team.id, { access: "admin" });
      await makeRule(own, noAdmins);
      const before = api.database.statementCount();
      await scan(api);
      const statements = api.database.statementCount() - before;
      expect(await violationsOf(own)).toMatchObject({ meta: { pagination: { "total-count": projects } } });
      return statements;
    };
    const few = await counted(2);
    expect(await counted(20)).toBe(few);
  });
});

describe("GET /organizations/:name/access-violations", () => {
  it("pages from the newest, and includes what the violations name", async () => {
    const first = await violationsOf(org, "?page[size]=2");
    const second = await violationsOf(org, "?page[size]=2&page[number]=2");
    expect(first.data).toHaveLength(2);
    expect(second.meta.pagination["total-count"]).toBe(8);
    const pages = [...first.data, ...second.data].map(({ id, attributes }: Json) => `${attributes.since} ${id}`);
    expect(pages).toEqual(pages.toSorted().toReversed());
    const { included, data: all } = await violationsOf(org, "?include=rule,team,user,project,workspace");
    const named = new Set(
      all.flatMap(({ relationships }: Json) =>
        Object.values<Json>(relationships).flatMap(({ data: link }) => (link ? [`${link.type} ${link.id}`] : [])),
      ),
    );
    expect(new Set(included.map(({ type, id }: Json) => `${type} ${id}`))).toEqual(named);
  });

  it("403 for a member, 404 for others", async () => {
    const path = `/organizations/${org.name}/access-violations`;
    const member = await api.makeMember(org.name);
    const stranger = await api.makeUser();
    for (const call of [
      (caller: typeof member | typeof stranger) => caller.get(path),
      (caller: typeof member | typeof stranger) => caller.post(`${path}/actions/refresh`),
    ]) {
      expect((await call(member)).status).toBe(403);
      expect((await call(stranger)).status).toBe(404);
    }
    expect(details(await member.get(path))[0]).toContain("ownership of the organization");
  });
});

describe("POST …/access-violations/actions/refresh", () => {
  it("202 without a body, and the next run computes again", async () => {
    const own = await api.makeOrganization();
    const answer = await own.owner.post(`/organizations/${own.name}/access-violations/actions/refresh`);
    expect([answer.status, answer.body]).toEqual([202, undefined]);
    await scan(api);
    const first = (await violationsOf(own)).meta["computed-at"];
    expect(first).toEqual(expect.any(String));
    await scan(api);
    expect((await violationsOf(own)).meta["computed-at"]).toBe(first);
  });
});
