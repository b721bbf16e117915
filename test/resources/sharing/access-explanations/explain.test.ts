/**
 * Access explanations: the value of each permission, and the grants that give it, with expiry and reason, and without expired ones. A
 * caller who manages access to a target can see the secret teams with access to it, and no others.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers } from "../../../support/builders.ts";
import { atTime, inMs } from "../../../support/clock.ts";

const api = useApi();

describe("access explanations", () => {
  const forEver = { until: null, reason: null };
  let org: Org;
  let project: Json;
  let workspace: Json;
  beforeAll(async () => {
    org = await api.makeOrganization();
    project = await api.makeProject(org.name);
    workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
  });

  const onWorkspace = async (caller: Caller, query = "") =>
    data(await caller.get(`/workspaces/${workspace.id}/access${query}`));
  const onProject = async (caller: Caller, query = "") =>
    data(await caller.get(`/projects/${project.id}/access${query}`));
  const kinds = (explanation: Json, permission: string): string[] =>
    explanation.attributes.permissions[permission]["given-by"].map((source: Json) => source.kind);
  const ofTeam = ({ id, attributes }: Json) => ({ id, name: attributes.name });

  describe("explainWorkspaceAccess: the caller", () => {
    it("shows each permission, its value and the grants that give it, linked", async () => {
      const [first, second] = [
        await api.makeTeam(org.name, { "organization-access": { "read-workspaces": true } }),
        await api.makeTeam(org.name),
      ];
      const onProjectRecord = await api.makeTeamProject(project.id, first.id, { access: "write" });
      const onWorkspaceRecord = await api.makeTeamWorkspace(workspace.id, second.id, {
        access: "custom",
        runs: "apply",
        "run-tasks": true,
      });
      const member = await api.makeMember(org.name, [first.id, second.id]);
      const explanation = await onWorkspace(member);
      expect(explanation).toMatchObject({
        id: `${workspace.id}:${member.id}`,
        type: "access-explanations",
        attributes: { "subject-name": member.username },
        relationships: {
          subject: { data: { type: "users", id: member.id }, links: { related: `/api/v2/users/${member.id}` } },
          project: { data: { type: "projects", id: project.id } },
          workspace: { data: { type: "workspaces", id: workspace.id } },
        },
      });
      const byProject = {
        kind: "team-project",
        type: "team-projects",
        id: onProjectRecord.id,
        team: ofTeam(first),
        level: "write",
        ...forEver,
        links: { related: `/api/v2/team-projects/${onProjectRecord.id}` },
      };
      const byWorkspace = {
        kind: "team-workspace",
        type: "team-workspaces",
        id: onWorkspaceRecord.id,
        team: ofTeam(second),
        level: "custom",
        ...forEver,
        links: { related: `/api/v2/team-workspaces/${onWorkspaceRecord.id}` },
      };
      const nothing = (value: unknown) => ({ value, until: null, "given-by": [] });
      const both = { value: "apply", until: null, "given-by": expect.arrayContaining([byProject, byWorkspace]) };
      const mocks = { value: "read", until: null, "given-by": [byProject] };
      expect(explanation.attributes.permissions).toEqual({
        settings: { value: "read", until: null, "given-by": [byProject] },
        teams: nothing("none"),
        runs: both,
        "policy-mocks": mocks,
        "sentinel-mocks": mocks,
        "state-versions": { value: "write", until: null, "given-by": [byProject] },
        variables: { value: "write", until: null, "given-by": [byProject] },
        create: nothing(false),
        move: nothing(false),
        locking: { value: true, until: null, "given-by": [byProject] },
        delete: nothing(false),
        "run-tasks": { value: true, until: null, "given-by": [byWorkspace] },
        "workspace-admin": nothing(false),
        "variable-sets": { value: "write", until: null, "given-by": [byProject] },
        "policy-overrides": nothing(false),
      });
      expect(explanation.attributes.permissions.runs["given-by"]).toHaveLength(2);
      for (const { links } of [byProject, byWorkspace]) expect((await member.get(links.related)).status).toBe(200);
    });

    it("an organization-level permission, by the team that holds it", async () => {
      const holder = await api.makeHolder(org.name, "manage-workspaces", "manage-teams");
      const explanation = await onWorkspace(holder);
      expect(explanation.attributes.permissions["workspace-admin"]).toEqual({
        value: true,
        until: null,
        "given-by": [
          {
            kind: "organization-permission",
            type: "teams",
            id: holder.teamId,
            team: { id: holder.teamId, name: expect.any(String) },
            permission: "manage-workspaces",
            ...forEver,
            links: { related: `/api/v2/teams/${holder.teamId}` },
          },
        ],
      });
    });

    it("ownership, a site admin, the organization's token, a team's token", async () => {
      const byOwnership = (await onWorkspace(org.owner)).attributes.permissions.move["given-by"];
      expect(byOwnership).toEqual([
        {
          kind: "ownership",
          type: "teams",
          id: org.ownersTeamId,
          team: { id: org.ownersTeamId, name: "owners" },
          ...forEver,
          links: { related: `/api/v2/teams/${org.ownersTeamId}` },
        },
      ]);
      const admin = await onWorkspace(await api.makeUser({ "is-site-admin": true }));
      expect(kinds(admin, "move")).toEqual(["site-admin"]);
      expect(admin.relationships.subject.data.type).toBe("users");
      const token = await onWorkspace(await api.makeOrganizationToken(org.name));
      expect(kinds(token, "move")).toEqual(["organization-token"]);
      expect(token.relationships.subject.data).toEqual({ type: "organizations", id: org.name });
      expect(token.attributes.permissions.runs).toMatchObject({ value: "read" });
      expect(token.attributes.can["can-lock"]).toBe(false);
      const owners = await onWorkspace(await api.makeTeamToken(org.ownersTeamId));
      expect(kinds(owners, "move")).toEqual(["ownership"]);
      expect(owners.relationships.subject.data).toEqual({ type: "teams", id: org.ownersTeamId });
    });
  });

  describe("explainProjectAccess", () => {
    it("does not mention a workspace", async () => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, team.id, { access: "admin" });
      const explanation = await onProject(await api.makeMember(org.name, [team.id]));
      expect(explanation.id.startsWith(project.id)).toBe(true);
      expect(explanation.relationships).not.toHaveProperty("workspace");
      expect(kinds(explanation, "settings")).toEqual(["team-project"]);
      expect(explanation.attributes.permissions.settings.value).toBe("delete");
    });
  });

  describe("of others", () => {
    it("shows a team's and a user's to callers who manage access, as they see it themselves", async () => {
      const team = await api.makeTeam(org.name, { visibility: "secret" });
      await api.makeTeamProject(project.id, team.id, { access: "maintain" });
      const person = await api.makeMember(org.name, [team.id]);
      const token = await api.makeTeamToken(team.id);
      for (const explain of [onWorkspace, onProject]) {
        expect(await explain(org.owner, `?filter[user][id]=${person.id}`)).toEqual(await explain(person));
        expect(await explain(org.owner, `?filter[team][id]=${team.id}`)).toEqual(await explain(token));
      }
      expect(kinds(await onProject(org.owner, `?filter[team][id]=${org.ownersTeamId}`), "teams")).toEqual([
        "ownership",
      ]);
    });

    it("shows a member without access, and a site admin who is a member", async () => {
      const plain = await api.makeMember(org.name);
      const { permissions, can } = (await onWorkspace(org.owner, `?filter[user][id]=${plain.id}`)).attributes;
      expect(Object.values<Json>(permissions).every((entry) => entry["given-by"].length === 0)).toBe(true);
      expect(Object.values<Json>(can).every((flag) => flag === false)).toBe(true);
      const site = await api.makeMember(org.name);
      await api.database.write((tx) =>
        tx.db.updateTable("users").set({ isSiteAdmin: 1 }).where("id", "=", site.id).execute(),
      );
      expect(kinds(await onWorkspace(org.owner, `?filter[user][id]=${site.id}`), "move")).toEqual(["site-admin"]);
    });

    it("needs no permission to name oneself", async () => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, team.id, { access: "read" });
      const person = await api.makeMember(org.name, [team.id]);
      expect(await onProject(person, `?filter[user][id]=${person.id}`)).toEqual(await onProject(person));
      const token = await api.makeTeamToken(team.id);
      expect(await onProject(token, `?filter[team][id]=${team.id}`)).toEqual(await onProject(token));
    });

    it("403 for callers who can't manage access, whether the subject exists or not", async () => {
      const team = await api.makeTeam(org.name);
      await api.makeTeamProject(project.id, team.id, { access: "write" });
      const person = await api.makeMember(org.name, [team.id]);
      for (const query of [
        `filter[team][id]=${org.ownersTeamId}`,
        "filter[team][id]=team-unknown",
        `filter[user][id]=${org.owner.id}`,
        "filter[user][id]=user-unknown",
      ]) {
        const answers = [
          await person.get(`/projects/${project.id}/access?${query}`),
          await person.get(`/workspaces/${workspace.id}/access?${query}`),
        ];
        expect(answers.map(({ status }) => status)).toEqual([403, 403]);
        expect(details(answers[0] as never)[0]).toContain("can-manage-team-access");
      }
    });

    it("404 for a team or person that the organization does not have", async () => {
      const other = await api.makeOrganization();
      const foreign = await api.makeTeam(other.name);
      const stranger = await api.makeUser();
      for (const query of [
        `filter[team][id]=${foreign.id}`,
        "filter[team][id]=team-unknown",
        `filter[team][id]=${org.owner.id}`,
        `filter[user][id]=${stranger.id}`,
        `filter[user][id]=${other.owner.id}`,
        "filter[user][id]=",
        `filter[user][id]=${org.ownersTeamId}`,
      ]) {
        expect((await org.owner.get(`/projects/${project.id}/access?${query}`)).status, query).toBe(404);
        expect((await org.owner.get(`/workspaces/${workspace.id}/access?${query}`)).status, query).toBe(404);
      }
    });

    it("400 for both in one request", async () => {
      const answer = await org.owner.get(`/projects/${project.id}/access?filter[team][id]=a&filter[user][id]=b`);
      expect(answer.status).toBe(400);
      expect(pointers(answer)).toEqual(["filter[user][id]"]);
    });
  });

  describe("team-access: every team with any access", () => {
    it("from any source, with its permissions and the grants", async () => {
      const scene = await api.makeOrganization();
      const place = await api.makeProject(scene.name);
      const held = await api.makeWorkspace(scene.name, {}, inProject(place.id));
      const permission = (...names: string[]) => ({
        "organization-access": Object.fromEntries(names.map((name) => [name, true])),
      });
      const byOrganization = await api.makeTeam(scene.name, permission("read-workspaces"));
      const byProject = await api.makeTeam(scene.name);
      const byWorkspace = await api.makeTeam(scene.name, { visibility: "secret" });
      const byAll = await api.makeTeam(scene.name, permission("read-projects"));
      await api.makeTeam(scene.name, permission("manage-teams"));
      const projectRecord = await api.makeTeamProject(place.id, byProject.id, { access: "write" });
      await api.makeTeamWorkspace(held.id, byWorkspace.id, { access: "plan" });
      await api.makeTeamProject(place.id, byAll.id, { access: "read" });
      await api.makeTeamWorkspace(held.id, byAll.id, { access: "admin" });

      const list = async (caller: Caller, path: string) => {
        const answer = await caller.get(`${path}/team-access`);
        const found = new Map<string, Json>();
        for (const item of data(answer)) found.set(item.relationships.subject.data.id, item.attributes.permissions);
        expect(answer.body.meta.pagination["total-count"]).toBe(found.size);
        return found;
      };
      const onHeld = await list(scene.owner, `/workspaces/${held.id}`);
      const expected = [scene.ownersTeamId, byOrganization.id, byProject.id, byWorkspace.id, byAll.id];
      expect([...onHeld.keys()].toSorted()).toEqual(expected.toSorted());
      expect(onHeld.get(byProject.id)?.locking).toMatchObject({ value: true, "given-by": [{ id: projectRecord.id }] });
      expect(onHeld.get(byWorkspace.id)?.runs.value).toBe("plan");
      expect(onHeld.get(byAll.id)?.["workspace-admin"].value).toBe(true);
      expect(onHeld.get(byAll.id)?.settings["given-by"].map((source: Json) => source.kind)).toEqual([
        "organization-permission",
        "team-project",
      ]);
      const onPlace = await list(scene.owner, `/projects/${place.id}`);
      expect([...onPlace.keys()].toSorted()).toEqual(
        [scene.ownersTeamId, byOrganization.id, byProject.id, byAll.id].toSorted(),
      );

      const reader = await api.makeMember(scene.name, [byProject.id]);
      expect((await list(reader, `/workspaces/${held.id}`)).has(byWorkspace.id)).toBe(false);
      const insider = await api.makeMember(scene.name, [byWorkspace.id]);
      expect((await list(insider, `/workspaces/${held.id}`)).has(byWorkspace.id)).toBe(true);
      const admin = await api.makeMember(scene.name, [byAll.id]);
      expect((await list(admin, `/workspaces/${held.id}`)).has(byWorkspace.id)).toBe(true);
    });

    it("is paged by name", async () => {
      const pages = await Promise.all(
        [1, 2].map((number) =>
          org.owner.get(`/projects/${project.id}/team-access?page[size]=2&page[number]=${number}`),
        ),
      );
      const names = pages.flatMap((answer) => data(answer).map((item: Json) => item.attributes["subject-name"]));
      expect(names).toEqual(names.toSorted());
      expect(new Set(names).size).toBe(names.length);
    });
  });
});

describe("expiry", () => {
  const hourMs = 3_600_000;
  const [soon, later] = [inMs(hourMs), inMs(2 * hourMs)];
  let org: Org;
  let workspace: Json;
  let brief: Json;
  let long: Json;
  let member: Member;

  /** A member of one team until soon, which can write without expiry, and of another without expiry, which can read until later. */
  beforeAll(async () => {
    org = await api.makeOrganization();
    const project = await api.makeProject(org.name);
    workspace = await api.makeWorkspace(org.name, {}, inProject(project.id));
    [brief, long] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    member = await api.makeMember(org.name, [long.id]);
    const meta = { "expires-at": soon, reason: "on call" };
    await org.owner.post(`/teams/${brief.id}/relationships/users`, { data: [{ type: "users", id: member.id, meta }] });
    await api.makeTeamProject(project.id, brief.id, { access: "write", reason: "they run it" });
    await api.makeTeamWorkspace(workspace.id, long.id, { access: "read", "expires-at": later, reason: "the audit" });
  });

  const explained = async (caller: Caller, query = "") =>
    data(await caller.get(`/workspaces/${workspace.id}/access${query}`)).attributes.permissions;

  it("each permission lasts until its last source expires, each source until the record or the membership does", async () => {
    for (const permissions of [await explained(member), await explained(org.owner, `?filter[user][id]=${member.id}`)]) {
      expect(permissions.runs).toMatchObject({
        value: "apply",
        until: soon,
        "given-by": [{ kind: "team-project", until: soon, reason: "on call" }],
      });
      expect(permissions.settings).toMatchObject({ value: "read", until: soon });
      expect(permissions.delete).toEqual({ value: false, until: null, "given-by": [] });
    }
  });

  it("a team's own access depends on the record alone", async () => {
    expect((await explained(org.owner, `?filter[team][id]=${brief.id}`)).runs).toMatchObject({
      until: null,
      "given-by": [{ until: null, reason: "they run it" }],
    });
    expect((await explained(org.owner, `?filter[team][id]=${long.id}`)).runs).toMatchObject({
      until: later,
      "given-by": [{ until: later, reason: "the audit" }],
    });
  });

  it("the list of teams shows the same, without expired access", async () => {
    const listed = async () =>
      data(await org.owner.get(`/workspaces/${workspace.id}/team-access?page[size]=100`)).flatMap((each: Json) =>
        [brief.id, long.id].includes(each.relationships.subject.data.id)
          ? [[each.relationships.subject.data.id, each.attributes.permissions.runs.until]]
          : [],
      );
    expect(Object.fromEntries(await listed())).toEqual({ [brief.id]: null, [long.id]: later });
    await atTime(later, async () => expect(Object.fromEntries(await listed())).toEqual({ [brief.id]: null }));
  });

  it("after the first expiry shows the rest; after the last, nothing", async () => {
    await atTime(soon, async () => {
      const permissions = await explained(member);
      expect(permissions.runs).toMatchObject({ value: "read", until: later });
      expect(permissions.runs["given-by"]).toHaveLength(1);
    });
    await atTime(later, async () => expect((await member.get(`/workspaces/${workspace.id}/access`)).status).toBe(404));
  });
});

it("a secret team without access here is 404 to a workspace admin, but visible to owners", async () => {
  const org = await api.makeOrganization();
  const workspace = await api.makeWorkspace(org.name);
  const admins = await api.makeTeam(org.name);
  await api.grantWorkspace(workspace.id, admins.id, "admin");
  const admin = await api.makeMember(org.name, [admins.id]);
  const secret = await api.makeTeam(org.name, { visibility: "secret" });
  const ask = `/workspaces/${workspace.id}/access?filter[team][id]=${secret.id}`;
  expect((await admin.get(ask)).status).toBe(404);
  expect((await org.owner.get(ask)).status).toBe(200);
  await api.grantWorkspace(workspace.id, secret.id, "read");
  expect((await admin.get(ask)).status).toBe(200);
});
