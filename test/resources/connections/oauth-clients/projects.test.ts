/**
 * The projects that can use a connection: the list, and its check when a workspace chooses a token.
 * Who can see and change version control connections and their tokens.
 */
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Org, pointers, resource, unique } from "../../../support/builders.ts";
import { github, makeClient, tokenIdOf } from "./builders.ts";

const api = useApi();
let org: Org;
let client: Json;

describe("projects", () => {
  let one: string;
  let two: string;

  beforeAll(async () => {
    org = await api.makeOrganization();
    [one, two] = [(await api.makeProject(org.name)).id, (await api.makeProject(org.name)).id].toSorted() as [
      string,
      string,
    ];
  });
  beforeEach(async () => {
    client = await makeClient(org, { "organization-scoped": false });
  });

  const at = () => `/oauth-clients/${client.id}`;
  const linkage = (...ids: string[]) => ({ data: ids.map((id) => ({ type: "projects", id })) });
  const add = (ids: string[], caller: Caller = org.owner) =>
    caller.post(`${at()}/relationships/projects`, linkage(...ids));
  const remove = (ids: string[], caller: Caller = org.owner) =>
    caller.delete(`${at()}/relationships/projects`, linkage(...ids));
  const shown = async (): Promise<Json> => data(await org.owner.get(at()));
  const projectsOf = async () => (await shown()).relationships.projects;
  const etag = async () => (await org.owner.get(at())).headers.get("etag");
  const events = async () =>
    data(await org.owner.get(`/organizations/${org.name}/audit-events?page[size]=100`))
      .filter((event: Json) => event.attributes["subject-id"] === client.id)
      .map((event: Json) => event.attributes)
      .toReversed();

  describe("the list", () => {
    it("is empty at first, or as it was sent, and the same in every document", async () => {
      expect(client.relationships.projects).toEqual({ data: [] });
      const body = resource(
        "oauth-clients",
        { ...github, "webhook-secret": "one-of-our-own-choice" },
        { projects: linkage(two, one, two) },
      );
      const answer = await org.owner.post(`/organizations/${org.name}/oauth-clients`, body);
      expect(answer.status).toBe(201);
      expect(answer.body.data.relationships.projects).toEqual(linkage(one, two));
      expect(data(await org.owner.get(`/oauth-clients/${answer.body.data.id}`))).toEqual(answer.body.data);
      const list = `/organizations/${org.name}/oauth-clients?page[size]=100`;
      expect(data(await org.owner.get(list))).toContainEqual(answer.body.data);
    });

    it("can be extended and reduced: 204, each change with a version and an event", async () => {
      const seen = [await etag()];
      const step = async (answer: Promise<Answer>, expected: string[]) => {
        expect((await answer).status).toBe(204);
        expect(await projectsOf()).toEqual(linkage(...expected));
        seen.push(await etag());
      };
      await step(add([one]), [one]);
      await step(add([two, one, two]), [one, two]);
      await step(remove([one]), [two]);
      await step(remove([two, one]), []);
      expect(new Set(seen).size).toBe(5);
      const changes = (await events()).slice(1);
      expect(changes.map((event: Json) => event.action.split(".")[1])).toEqual([
        "add-projects",
        "add-projects",
        "remove-projects",
        "remove-projects",
      ]);
      expect(changes.map((event: Json) => [event.before.projects, event.after.projects])).toEqual([
        [[], [one]],
        [[], [two]],
        [[one], []],
        [[two], []],
      ]);
    });

    it("stays the same, without a version or an event, if nothing changes", async () => {
      await add([one]);
      const before = [await etag(), (await events()).length];
      for (const answer of [await add([one]), await add([]), await remove([two])]) expect(answer.status).toBe(204);
      expect([await etag(), (await events()).length]).toEqual(before);
    });

    it("is replaced by a PATCH that sends it, and kept by one that does not", async () => {
      const patch = (attributes: object, relationships?: object) =>
        org.owner.patch(at(), resource("oauth-clients", attributes, relationships));
      const changed = data(await patch({}, { projects: linkage(two) }));
      expect(changed.relationships.projects).toEqual(linkage(two));
      expect(await shown()).toEqual(changed);
      expect((await events()).at(-1)).toMatchObject({ before: { projects: [] }, after: { projects: [two] } });
      expect(data(await patch({ name: "other" })).relationships.projects).toEqual(linkage(two));
      expect(data(await patch({}, { projects: linkage() })).relationships.projects).toEqual(linkage());
    });

    it("contains all projects that are added concurrently", async () => {
      const ids: string[] = await Promise.all([1, 2, 3, 4].map(async () => (await api.makeProject(org.name)).id));
      const answers = await Promise.all(ids.map((id) => add([id])));
      expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204]);
      expect(await projectsOf()).toEqual(linkage(...ids.toSorted()));
    });

    it("loses a deleted project, and the version changes", async () => {
      const { id } = await api.makeProject(org.name);
      await add([id, one]);
      const before = await etag();
      expect((await org.owner.delete(`/projects/${id}`)).status).toBe(204);
      expect(await projectsOf()).toEqual(linkage(one));
      const after = await etag();
      expect(after).not.toBe(before);
      await remove([one]);
      expect(new Set([before, after, await etag()]).size).toBe(3);
    });

    it("includes the projects that the caller can read", async () => {
      await add([one, two]);
      const ids = async (caller: Caller, path: string) =>
        (await caller.get(path)).body.included.map((item: Json) => item.id).toSorted();
      const manager = await api.makeHolder(org.name, "manage-vcs-settings");
      for (const path of [`${at()}?include=projects`, `/organizations/${org.name}/oauth-clients?include=projects`]) {
        expect(await ids(org.owner, path)).toEqual(expect.arrayContaining([one, two]));
        expect(await ids(manager, path)).toEqual([]);
      }
      expect(await ids(org.owner, `${at()}?include=projects,oauth_tokens`)).toHaveLength(3);
    });
  });

  describe("422", () => {
    it("for projects that are not in the organization, with their positions, and nothing changes", async () => {
      const foreign = (await api.makeProject((await api.makeOrganization()).name)).id;
      const ids = [one, foreign, "prj-0000000000000000"];
      for (const answer of [await add(ids), await remove(ids)]) {
        expect(answer.status).toBe(422);
        expect(pointers(answer)).toEqual(["/data/1/id", "/data/2/id"]);
        expect(details(answer)[0]).toBe(`Project '${foreign}' does not exist in this organization`);
      }
      const relationships = { projects: linkage(foreign) };
      const pointer = ["/data/relationships/projects/data/0/id"];
      expect(pointers(await org.owner.patch(at(), resource("oauth-clients", {}, relationships)))).toEqual(pointer);
      const refused = await org.owner.post(
        `/organizations/${org.name}/oauth-clients`,
        resource("oauth-clients", github, relationships),
      );
      expect(pointers(refused)).toEqual(pointer);
      expect(await projectsOf()).toEqual(linkage());
    });

    it("for resources of another type", async () => {
      const body = { data: [{ type: "workspaces", id: "ws-1" }] };
      expect(pointers(await org.owner.post(`${at()}/relationships/projects`, body))).toEqual(["/data/0"]);
    });
  });

  describe("who can change the list", () => {
    it("204 for a holder of manage-vcs-settings", async () => {
      const manager = await api.makeHolder(org.name, "manage-vcs-settings");
      expect((await add([one], manager)).status).toBe(204);
      expect((await remove([one], manager)).status).toBe(204);
    });

    it("403 for callers who can see connections but not manage them", async () => {
      const reader = await api.makeHolder(org.name, "manage-workspaces");
      for (const answer of [await add([one], reader), await remove([one], reader)]) {
        expect(answer.status).toBe(403);
        expect(details(answer)[0]).toContain("the organization permission 'manage-vcs-settings'");
      }
    });

    it("404 for other members, and for another organization's owner", async () => {
      for (const caller of [await api.makeMember(org.name), (await api.makeOrganization()).owner]) {
        expect((await add([one], caller)).status).toBe(404);
        expect((await remove([one], caller)).status).toBe(404);
      }
    });
  });

  describe("a workspace that chooses a token of the connection", () => {
    const repo = (connection: Json = client) => ({
      identifier: "acme/network",
      "oauth-token-id": tokenIdOf(connection),
    });
    const create = (project: string, vcs = repo()) =>
      org.owner.post(
        `/organizations/${org.name}/workspaces`,
        resource("workspaces", { name: unique("ws"), "vcs-repo": vcs }, inProject(project)),
      );
    const expectRefused = (answer: Answer) => {
      expect(answer.status, JSON.stringify(answer.body)).toBe(422);
      expect(pointers(answer)).toEqual(["/data/attributes/vcs-repo/oauth-token-id"]);
      expect(details(answer)).toEqual([
        "Oauth token belongs to a connection that does not include this project; add the project to the connection, or use another token",
      ]);
    };

    it("can, in every project, if it is for the whole organization", async () => {
      const everyones = await makeClient(org);
      expect((await create(one, repo(everyones))).status).toBe(201);
    });

    it("422 in a project that is not on the list, and nothing is created", async () => {
      await add([two]);
      expectRefused(await create(one));
      const unchanged = await api.makeWorkspace(org.name, {}, inProject(one));
      expectRefused(
        await org.owner.patch(`/workspaces/${unchanged.id}`, resource("workspaces", { "vcs-repo": repo() })),
      );
      expect(data(await org.owner.get(`/workspaces/${unchanged.id}`)).attributes["vcs-repo"]).toBeNull();
    });

    it("can in a project that is on the list, created or moved there by the same request", async () => {
      await add([two]);
      expect((await create(two)).status).toBe(201);
      const { id } = await api.makeWorkspace(org.name, {}, inProject(one));
      const body = resource("workspaces", { "vcs-repo": repo() }, inProject(two));
      expect((await org.owner.patch(`/workspaces/${id}`, body)).status).toBe(200);
      const away = await api.makeWorkspace(org.name, {}, inProject(two));
      const leaving = resource("workspaces", { "vcs-repo": repo() }, inProject(one));
      expectRefused(await org.owner.patch(`/workspaces/${away.id}`, leaving));
    });

    it("keeps it when the list shrinks later, or it is moved away", async () => {
      await add([two]);
      const { id } = data(await create(two));
      await remove([two]);
      const changed = data(await org.owner.patch(`/workspaces/${id}`, resource("workspaces", { description: "kept" })));
      expect(changed.attributes["vcs-repo"]["oauth-token-id"]).toBe(tokenIdOf(client));
      const branch = { "vcs-repo": { branch: "main" } };
      expect((await org.owner.patch(`/workspaces/${id}`, resource("workspaces", branch))).status).toBe(200);
      const moved = await org.owner.patch(`/workspaces/${id}`, resource("workspaces", {}, inProject(one)));
      expect(data(moved).attributes["vcs-repo"]["oauth-token-id"]).toBe(tokenIdOf(client));
    });
  });
});

describe("access", () => {
  beforeAll(async () => {
    org = await api.makeOrganization();
    client = await makeClient(org);
  });

  const lists = () => [`/organizations/${org.name}/oauth-clients`, `/organizations/${org.name}/oauth-tokens`];
  const things = () => [
    `/oauth-clients/${client.id}`,
    `/oauth-clients/${client.id}/oauth-tokens`,
    `/oauth-tokens/${tokenIdOf(client)}`,
  ];
  const create = (caller: Caller) =>
    caller.post(`/organizations/${org.name}/oauth-clients`, resource("oauth-clients", github));
  const changes = async (caller: Caller): Promise<Answer[]> => [
    await caller.patch(`/oauth-clients/${client.id}`, resource("oauth-clients", { name: "mine" })),
    await caller.patch(`/oauth-tokens/${tokenIdOf(client)}`, resource("oauth-tokens", { "ssh-key": null })),
    await caller.delete(`/oauth-tokens/${tokenIdOf(client)}`),
    await caller.delete(`/oauth-clients/${client.id}`),
  ];
  const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);
  const reads = (caller: Caller, paths: readonly string[]) => Promise.all(paths.map((path) => caller.get(path)));

  describe("writers", () => {
    it("are owners, teams with 'manage-vcs-settings' and the organization's token", async () => {
      const holder = await api.makeHolder(org.name, "manage-vcs-settings");
      const callers = [
        holder,
        await api.makeTeamToken(holder.teamId),
        await api.makeOrganizationToken(org.name),
        org.owner,
        api.admin,
      ];
      for (const caller of callers) {
        expect(statuses(await reads(caller, [...lists(), ...things()]))).toEqual([200, 200, 200, 200, 200]);
        expect((await create(caller)).status).toBe(201);
        expect(statuses(await changes(caller))).toEqual([200, 200, 204, 204]);
        client = await makeClient(org);
      }
    });
  });

  describe("readers", () => {
    it.each(["manage-workspaces", "manage-projects"])("are teams with '%s'; they get 403 for changes", async (name) => {
      const holder = await api.makeHolder(org.name, name);
      expect(statuses(await reads(holder, [...lists(), ...things()]))).toEqual([200, 200, 200, 200, 200]);
      const refused = [await create(holder), ...(await changes(holder))];
      expect(statuses(refused)).toEqual([403, 403, 403, 403, 403]);
      for (const answer of refused) expect(details(answer)[0]).toContain("'manage-vcs-settings' (can-update-oauth)");
    });
  });

  describe("other members", () => {
    it("get 403 for the lists, and 404 for what is in them", async () => {
      const holder = await api.makeHolder(org.name, "read-workspaces", "manage-agent-pools", "manage-teams");
      const team = await api.makeTeam(org.name);
      await api.grantProject(org.defaultProjectId, team.id, "admin");
      const callers = [await api.makeMember(org.name), holder, await api.makeMember(org.name, [team.id])];
      for (const caller of callers) {
        const listed = await reads(caller, lists());
        expect(statuses(listed)).toEqual([403, 403]);
        expect(details(listed[0] as Answer)[0]).toContain(
          "'manage-vcs-settings', 'manage-workspaces' or 'manage-projects'",
        );
        expect(statuses(await reads(caller, things()))).toEqual([404, 404, 404]);
        expect((await create(caller)).status).toBe(403);
        expect(statuses(await changes(caller))).toEqual([404, 404, 404, 404]);
      }
    });
  });
});
