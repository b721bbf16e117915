/**
 * Who can query whose reach, the reach of tokens, and what is shown of teams that the caller can't see. The whole
 * reach as CSV, streamed in batches.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { parseCsv } from "../../../support/csv.ts";
import { manyWorkspaces } from "./support.ts";
import { itInGate } from "../../../support/engine-independent.ts";

const api = useApi();

describe("access to reach", () => {
  let org: Org;
  let team: Json;
  let workspace: Json;
  let member: Member;
  let outsider: Member;
  beforeAll(async () => {
    org = await api.makeOrganization();
    team = await api.makeTeam(org.name);
    workspace = await api.makeWorkspace(org.name);
    await api.makeTeamWorkspace(workspace.id, team.id, { access: "write" });
    member = await api.makeMember(org.name, [team.id]);
    outsider = await api.makeMember(org.name);
  });

  const ofTeam = (id: string) => `/teams/${id}/reach`;
  const ofUser = (id: string, name = org.name) => `/users/${id}/reach?filter[organization][name]=${name}`;
  const ofToken = (id: string, name?: string) =>
    `/authentication-tokens/${id}/reach${name === undefined ? "" : `?filter[organization][name]=${name}`}`;
  const targetIds = (answer: Answer): string[] => data(answer).map(({ id }: Json) => id.split(":")[0]);

  describe("listTeamReach: access", () => {
    it("200: the team's members, its own token, and callers who manage teams or memberships", async () => {
      const callers: Caller[] = [
        member,
        await api.makeTeamToken(team.id),
        await api.makeHolder(org.name, "manage-teams", "read-workspaces"),
        await api.makeHolder(org.name, "manage-membership", "read-workspaces"),
        await api.makeOrganizationToken(org.name),
        org.owner,
        api.admin,
      ];
      for (const caller of callers) expect(targetIds(await caller.get(ofTeam(team.id)))).toEqual([workspace.id]);
    });

    it("404: other members, other teams' tokens, non-members, callers who manage something else", async () => {
      const callers: Caller[] = [
        outsider,
        await api.makeTeamToken((await api.makeTeam(org.name)).id),
        await api.makeHolder(org.name, "manage-projects", "manage-vcs-settings"),
        await api.makeUser(),
        (await api.makeOrganization()).owner,
      ];
      for (const caller of callers) {
        const answer = await caller.get(ofTeam(team.id));
        expect(answer.status).toBe(404);
        expect(details(answer)[0]).toContain("team");
      }
      expect((await org.owner.get(ofTeam("team-none"))).status).toBe(404);
      expect((await api.nobody.get(ofTeam(team.id))).status).toBe(401);
    });

    it("404: a secret team, for callers who manage teams but can't see it", async () => {
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      const manager = await api.makeHolder(org.name, "manage-teams", "manage-membership");
      expect((await manager.get(ofTeam(secret.id))).status).toBe(404);
      const knowing = await api.makeHolder(org.name, "manage-teams", "access-secret-teams");
      expect((await knowing.get(ofTeam(secret.id))).status).toBe(200);
    });
  });

  describe("listUserReach: access", () => {
    it("200: the user, and callers who manage memberships", async () => {
      const managers = await api.makeHolder(org.name, "manage-membership", "read-workspaces");
      for (const caller of [member, managers, org.owner, api.admin, await api.makeOrganizationToken(org.name)])
        expect(targetIds(await caller.get(ofUser(member.id)))).toEqual([workspace.id]);
      expect(targetIds(await outsider.get(ofUser(outsider.id)))).toEqual([]);
    });

    it("404: other users, users who are not members, organizations that the caller can't see", async () => {
      const stranger = await api.makeUser();
      for (const [caller, path] of [
        [outsider, ofUser(member.id)],
        [await api.makeTeamToken(team.id), ofUser(member.id)],
        [await api.makeHolder(org.name, "manage-teams"), ofUser(member.id)],
        [org.owner, ofUser(stranger.id)],
        [org.owner, ofUser("user-none")],
        [stranger, ofUser(stranger.id)],
        [member, ofUser(member.id, "no-such-organization")],
        [member, ofUser(member.id, (await api.makeOrganization()).name)],
      ] as const)
        expect((await caller.get(path)).status).toBe(404);
    });

    it("400: without the organization, naming the parameter", async () => {
      const answer = await member.get(`/users/${member.id}/reach`);
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual(["filter[organization][name]"]);
    });

    it("a site admin reaches everything without a membership", async () => {
      const admin = await api.makeUser({ "is-site-admin": true });
      const answer = await admin.get(ofUser(admin.id));
      expect(targetIds(answer)).toEqual([org.defaultProjectId, workspace.id]);
      expect(data(answer)[1].attributes["given-by"]).toMatchObject([
        { kind: "site-admin", type: "users", id: admin.id },
      ]);
      expect((await org.owner.get(ofUser(admin.id))).status).toBe(404);
    });

    it("sources from secret teams are counted for callers who can't see them", async () => {
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      const record = await api.makeTeamProject(org.defaultProjectId, secret.id, { access: "maintain" });
      const person = await api.makeMember(org.name, [team.id, secret.id]);
      const manager = await api.makeHolder(org.name, "manage-membership", "read-workspaces");
      const answer = await manager.get(ofUser(person.id));
      const [shown] = data(answer);
      expect(shown.attributes).toMatchObject({ level: "admin", "hidden-sources": 1 });
      expect(shown.attributes["given-by"]).toMatchObject([{ kind: "team-workspace", team: { id: team.id } }]);
      for (const hidden of [secret.id, secret.attributes.name, record.id])
        expect(JSON.stringify(answer.body)).not.toContain(hidden);
      const [, own] = data(await person.get(ofUser(person.id)));
      expect(own.attributes).toMatchObject({ "hidden-sources": 0 });
      expect(own.attributes["given-by"]).toHaveLength(2);
    });
  });

  describe("listTokenReach", () => {
    /** Changes of a token that only time makes. */
    const change = (id: string, columns: { createdAt?: string; expiredAt?: string }) =>
      api.database.write(async (tx) => {
        await tx.db.updateTable("tokens").set(columns).where("id", "=", id).execute();
      });
    const newToken = async (person: Member): Promise<Json> =>
      data(await person.post(`/users/${person.id}/authentication-tokens`));

    it("a user token: the user's reach, for the user or a site admin", async () => {
      const { id } = await newToken(member);
      for (const caller of [member, api.admin]) {
        const answer = await caller.get(ofToken(id, org.name));
        expect(targetIds(answer)).toEqual([workspace.id]);
        expect(data(answer)[0].relationships.subject.data).toEqual({ type: "users", id: member.id });
      }
      for (const caller of [outsider, org.owner]) expect((await caller.get(ofToken(id, org.name))).status).toBe(404);
    });

    it("400: a user's token without the organization; 404: in one that the user is not in", async () => {
      const { id } = await newToken(member);
      const answer = await member.get(ofToken(id));
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual(["filter[organization][name]"]);
      // Only the holder can see whose token it is.
      expect((await outsider.get(ofToken(id))).status).toBe(404);
      expect((await member.get(ofToken(id, "no-such-organization"))).status).toBe(404);
      expect((await member.get(ofToken(id, (await api.makeOrganization()).name))).status).toBe(404);
    });

    it("a team token: for callers who can manage it or query the team's reach, with or without its organization", async () => {
      const caller = await api.makeTeamToken(team.id);
      const { id } = data(await org.owner.get(`/teams/${team.id}/authentication-token`));
      for (const path of [ofToken(id), ofToken(id, org.name), ofToken(id, org.name.toUpperCase())])
        for (const asking of [caller, member, org.owner])
          expect(targetIds(await asking.get(path))).toEqual([workspace.id]);
      expect((await outsider.get(ofToken(id))).status).toBe(404);
      expect((await caller.get(ofToken(id, (await api.makeOrganization()).name))).status).toBe(404);
    });

    it("an organization token owns, but neither runs nor locks", async () => {
      const caller = await api.makeOrganizationToken(org.name);
      const { id } = data(await org.owner.get(`/organizations/${org.name}/authentication-token`));
      const answer = await caller.get(ofToken(id));
      expect(targetIds(answer)).toEqual([org.defaultProjectId, workspace.id]);
      const { attributes, relationships } = data(answer)[1];
      expect(attributes.permissions).toEqual(
        data(await caller.get(`/workspaces/${workspace.id}`)).attributes.permissions,
      );
      expect(attributes["given-by"]).toMatchObject([{ kind: "organization-token" }]);
      expect(attributes.level).toBe("custom");
      expect(relationships.subject.data).toEqual({ type: "organizations", id: org.name });
      const locking = await caller.get(`${ofToken(id)}?filter[permission]=can-lock`);
      expect(targetIds(locking)).toEqual([]);
      expect((await member.get(ofToken(id))).status).toBe(404);
    });

    it("the audit log token reaches nothing", async () => {
      const { id } = data(await org.owner.post(`/organizations/${org.name}/authentication-token?token=audit-trails`));
      const answer = await org.owner.get(ofToken(id));
      expect(data(answer)).toEqual([]);
      expect(answer.body.meta.pagination["total-count"]).toBe(0);
    });

    it("a token that is too old for the organization reaches nothing there, and the reason is shown", async () => {
      const strict = await api.makeOrganization();
      const { id } = data(await strict.owner.post(`/users/${strict.owner.id}/authentication-tokens`));
      await change(id, { createdAt: "2020-01-01T00:00:00.000Z" });
      const before = await strict.owner.get(ofToken(id, strict.name));
      expect(targetIds(before)).toEqual([strict.defaultProjectId]);
      expect(before.body.meta.refused).toBeUndefined();
      const policies = [{ "token-type": "user", "max-ttl-ms": 86_400_000 }];
      const body = resource("organization-token-ttl-policies", { "token-ttl-policies": policies });
      data(await strict.owner.patch(`/organizations/${strict.name}/token-ttl-policies`, body));
      const bounding = resource("organizations", { "max-ttl-enabled": true });
      data(await strict.owner.patch(`/organizations/${strict.name}`, bounding));
      const answer = await strict.owner.get(ofToken(id, strict.name));
      expect(data(answer)).toEqual([]);
      expect(answer.body.meta.refused).toContain("max-ttl-enabled");
    });

    it("an expired token reaches nothing, and the reason is shown", async () => {
      const { id } = await newToken(member);
      await change(id, { expiredAt: "2020-01-01T00:00:00.000Z" });
      const answer = await member.get(ofToken(id, org.name));
      expect(data(answer)).toEqual([]);
      expect(answer.body.meta).toMatchObject({
        refused: expect.stringContaining("expired"),
        totals: { workspaces: { write: 0 } },
      });
      const table = await member.get(ofToken(id, org.name), { accept: "text/csv" });
      expect(String(table.body).trim().split("\r\n")).toHaveLength(1);
    });
  });
});

describe("listTeamReach as text/csv", () => {
  const csv = { accept: "text/csv" };

  const rowsIn = ({ body }: Answer) => parseCsv(String(body));

  let org: Org;
  let team: Json;
  let path = "";
  beforeAll(async () => {
    org = await api.makeOrganization();
    team = await api.makeTeam(org.name, { name: "danger" });
    path = `/teams/${team.id}/reach`;
    await api.makeWorkspace(org.name, { name: "-1" });
    await api.makeWorkspace(org.name, { name: "plain" });
  });

  it("every column, and cells that no spreadsheet takes for a formula", async () => {
    const record = await api.makeTeamProject(org.defaultProjectId, team.id, { access: "write" });
    const answer = await org.owner.get(path, csv);
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8; header=present");
    expect(answer.headers.get("content-disposition")).toBe(`attachment; filename="reach-${team.id}.csv"`);
    const rows = rowsIn(answer);
    expect(rows.map(({ kind, name, level }) => [kind, name, level])).toEqual([
      ["workspace", "'-1", "write"],
      ["project", "Default Project", "write"],
      ["workspace", "plain", "write"],
    ]);
    expect(rows[2]).toMatchObject({
      "project-id": org.defaultProjectId,
      "project-name": "Default Project",
      "can-queue-apply": "true",
      "can-force-delete": "false",
      "can-create-workspace": "",
      "given-by": `team-project ${record.id} (danger: write)`,
      "hidden-sources": "0",
    });
    expect(rows[1]).toMatchObject({ "can-create-workspace": "false", "can-queue-apply": "" });
  });

  it("the same filters and order, and the same refusals, as documents", async () => {
    const backwards = rowsIn(await org.owner.get(`${path}?sort=-name&filter[permission]=can-lock&page[size]=1`, csv));
    expect(backwards.map(({ name }) => name)).toEqual(["plain", "'-1"]);
    const stranger = await (await api.makeMember(org.name)).get(path, csv);
    expect([stranger.status, stranger.headers.get("content-type")]).toEqual([404, "application/vnd.api+json"]);
    expect((await org.owner.get(`${path}?filter[permission]=can-fly`, csv)).status).toBe(400);
  });

  it("returns a document, unless a table is preferred", async () => {
    for (const accept of ["*/*", "application/vnd.api+json, text/csv", "text/csv;q=0", "text/*"])
      expect(data(await org.owner.get(path, { accept }))).toHaveLength(3);
    for (const accept of ["text/csv, */*;q=0.1", "application/json;q=0.5, TEXT/CSV"])
      expect(rowsIn(await org.owner.get(path, { accept }))).toHaveLength(3);
  });

  itInGate(
    "thousands, in pieces, each once and in order; and what a document says is still what was kept",
    async () => {
      const large = await api.makeOrganization();
      const everyone = await api.makeTeam(large.name);
      await api.makeTeamProject(large.defaultProjectId, everyone.id, { access: "read" });
      const names = await manyWorkspaces(api, large, 2100);
      for (const [sort, expected] of [
        ["name", [...names, "Default Project"].toSorted()],
        ["-name", [...names, "Default Project"].toSorted().toReversed()],
      ] as const) {
        for (const teamId of [everyone.id, large.ownersTeamId]) {
          const before = api.database.statementCount();
          const rows = rowsIn(await large.owner.get(`/teams/${teamId}/reach?sort=${sort}`, csv));
          expect(rows.map(({ name }) => name)).toEqual(expected);
          // The team, three pieces, and the token where it is not known from before; where it takes long, the token and the team again.
          expect(api.database.statementCount() - before).toBeLessThanOrEqual(5 + 2 * 3);
        }
      }
      const documents = await large.owner.get(`/teams/${everyone.id}/reach?page[size]=1`);
      expect(documents.body.meta.pagination["total-count"]).toBe(2101);
    },
  );
});
