/**
 * Previews that are applied: all or nothing, and only if access has not changed; and their cost. Changes that
 * can't be previewed: the faults, with their position in the request.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import { atTime, inMs } from "../../../support/clock.ts";
import {
  requestPreview,
  projectGrant,
  joining,
  leaving,
  moving,
  permitting,
  previewOf,
} from "../../../support/previews.ts";
import { fingerprint } from "../../../support/database-snapshots.ts";

const api = useApi();
let org: Org;
let project: string;

describe("applied previews", () => {
  let teams: Json[];
  let member: Member;

  beforeAll(async () => {
    org = await api.makeOrganization();
    project = (await api.makeProject(org.name)).id;
    await api.makeWorkspace(org.name, {}, inProject(project));
    teams = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    member = await api.makeMember(org.name, [teams[0].id]);
  });

  const ask = (changes: readonly Json[], more: object = {}, caller: Caller = org.owner): Promise<Answer> =>
    requestPreview(caller, org.name, changes, more);
  const versionNow = async (): Promise<string> =>
    data(await ask([access("read-projects")])).attributes["access-version"];
  const apply = async (changes: readonly Json[], version?: string, caller?: Caller): Promise<Answer> =>
    ask(changes, { apply: true, "access-version": version ?? (await versionNow()) }, caller);

  const access = (permission: string, value = true, team: Json = teams[0]) => permitting(team.id, permission, value);
  const give = (level: string, projectId = project, team: Json = teams[0]) => projectGrant(level, team.id, projectId);
  const move = (workspaceId: string, projectId: string) => moving(projectId, workspaceId);

  describe("apply", () => {
    it("applies all changes, each with its own event, and returns what was gained", async () => {
      const changes = [give("read"), access("manage-policies", true, teams[1])];
      const previewed = data(await ask(changes)).attributes;
      const answer = await apply(changes, previewed["access-version"]);
      const { applied, allowed, gains, "access-version": version } = data(answer).attributes;
      expect([applied, allowed, gains]).toEqual([true, true, previewed.gains]);
      expect((await member.get(`/projects/${project}`)).status).toBe(200);
      const events = await api.database.reader.db
        .selectFrom("auditEvents")
        .select(["action", "actorName"])
        .where("requestId", "=", answer.headers.get("x-request-id"))
        .orderBy("action")
        .execute();
      expect(events).toEqual(
        ["team-projects.create", "teams.update"].map((action) => ({ action, actorName: org.owner.username })),
      );
      expect(version).not.toBe(previewed["access-version"]);
      expect(version).toBe(await versionNow());
    });

    it("applies none if the caller can't make one of them: 403, 404, 409 and 422 as on its own, with its position", async () => {
      const manager = await api.makeMember(org.name, [
        (await api.makeTeam(org.name, { "organization-access": { "manage-teams": true } })).id,
      ]);
      const secret = await api.makeTeam(org.name, { visibility: "secret" });
      const fine: Json = {
        method: "PATCH",
        path: `/teams/${teams[1].id}`,
        body: resource("teams", { visibility: "secret" }),
      };
      const cases: [number, Json, Caller, string][] = [
        [403, access("manage-workspaces"), manager, ""],
        [404, access("read-projects", true, secret), manager, ""],
        [409, leaving(org.ownersTeamId, "admin", org.owner.username), org.owner, ""],
        [422, give("read"), org.owner, "/body/data/relationships/team"],
      ];
      const before = await fingerprint(api.database);
      for (const [status, change, caller, below] of cases) {
        const answer = await apply([fine, change], undefined, caller);
        expect([answer.status, pointers(answer)]).toEqual([status, [`/data/attributes/changes/1${below}`]]);
      }
      expect(await fingerprint(api.database)).toBe(before);
    });

    it("412: access has changed meanwhile, by a record, a member, a move or an expiry", async () => {
      const workspace = await api.makeWorkspace(org.name);
      const destination = (await api.makeProject(org.name)).id;
      const meanwhile: Record<string, () => Promise<unknown>> = {
        "a record": () => api.makeTeamProject(destination, teams[0].id),
        "a member": () => api.makeMember(org.name, [teams[1].id]),
        "a move": async () =>
          data(await api.admin.post(move(workspace.id, destination).path, move(workspace.id, destination).body)),
      };
      for (const [what, happens] of Object.entries(meanwhile)) {
        const version = await versionNow();
        await happens();
        const before = await fingerprint(api.database);
        const answer = await apply([access("manage-providers")], version);
        expect([answer.status, await fingerprint(api.database)], what).toEqual([412, before]);
        expect(details(answer)[0]).toContain("Preview the changes again");
      }
      const end = inMs(3_600_000);
      await api.makeTeamWorkspace(workspace.id, teams[1].id, { access: "read", "expires-at": end });
      const version = await versionNow();
      expect((await ask([access("manage-providers")], { "access-version": version })).status).toBe(200);
      expect((await atTime(end, () => apply([access("manage-providers")], version))).status).toBe(412);
    });

    it("keeps the version for changes of nobody's access, and has the same requirements for previews and applications", async () => {
      const version = await versionNow();
      const { id } = await api.makeWorkspace(org.name);
      await api.admin.patch(`/workspaces/${id}`, resource("workspaces", { description: "x" }));
      expect(await versionNow()).toBe(version);
      expect((await ask([access("manage-providers")], { "access-version": "1" })).status).toBe(412);
    });

    it("applies one of several at the same time with the same version", async () => {
      const version = await versionNow();
      const wanted = ["manage-modules", "manage-providers", "manage-run-tasks", "manage-policies"];
      const answers = await Promise.all(
        wanted.map((permission) => apply([access(permission, true, teams[0])], version)),
      );
      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412]);
    });

    it("next to concurrent changes of the same targets: no internal errors", async () => {
      const other = (await api.makeProject(org.name)).id;
      const { id } = await api.makeWorkspace(org.name, {}, inProject(project));
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, index) => [
          ask([give("read", other), move(id, index % 2 === 0 ? other : project), access("read-projects")]),
          api.admin.post(move(id, other).path, move(id, index % 2 === 0 ? project : other).body),
          api.admin.patch(`/teams/${teams[0].id}`, access("read-workspaces", index % 2 === 0).body),
        ]).flat(),
      );
      expect(answers.filter(({ status }) => status >= 300).map(({ body }) => body)).toEqual([]);
    });
  });

  describe("statements", () => {
    const counted = async (changes: readonly Json[]): Promise<number> => {
      const before = api.database.statementCount();
      data(await ask(changes));
      return api.database.statementCount() - before;
    };

    it("are as many for many workspaces, users and records as for few", async () => {
      const [few, many] = [(await api.makeProject(org.name)).id, (await api.makeProject(org.name)).id];
      const [small, large] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
      await api.makeMember(org.name, [small.id]);
      const first = await api.makeWorkspace(org.name, {}, inProject(few));
      await api.makeWorkspace(org.name, {}, inProject(few));
      await api.makeTeamWorkspace(first.id, small.id);
      const made: Json[] = [];
      for (let count = 0; count < 6; count += 1) {
        const workspace = await api.makeWorkspace(org.name, {}, inProject(many));
        made.push(workspace);
        await api.makeMember(org.name, [large.id, teams[0].id]);
        if (count % 2 === 0) await api.makeTeamWorkspace(workspace.id, large.id);
      }
      const pairs: [Json, Json][] = [
        [give("write", few, small), give("write", many, large)],
        [access("read-projects", true, small), access("read-projects", true, large)],
        [
          move(first.id, many),
          { ...move("", few), body: { data: made.map(({ id }) => ({ type: "workspaces", id })) } },
        ],
      ];
      for (const [one, other] of pairs) {
        await counted([one]);
        expect(await counted([other])).toBe(await counted([one]));
      }
    });
  });
});

describe("422: a bad change, with its position", () => {
  let workspace: Json;
  let team: Json;
  /** Has a record on the project already. */
  let readers: Json;

  beforeAll(async () => {
    org = await api.makeOrganization();
    project = (await api.makeProject(org.name)).id;
    workspace = await api.makeWorkspace(org.name, {}, inProject(project));
    [team, readers] = [await api.makeTeam(org.name), await api.makeTeam(org.name)];
    await api.makeTeamProject(project, readers.id, { access: "read" });
  });

  const ask = (changes: readonly Json[]) => requestPreview(org.owner, org.name, changes);
  const give = (access = "read", teamId: string = team.id) => projectGrant(access, teamId, project);

  it("that is no change of access, with a list of those that are", async () => {
    for (const path of ["/workspaces", `/runs/run-1`, "team-projects", "/team-projects/a/b", "/teams/%zz"]) {
      const answer = await ask([give(), { method: "POST", path }]);
      expect([answer.status, pointers(answer)], path).toEqual([422, ["/data/attributes/changes/1/path"]]);
      expect(details(answer)[0]).toContain("POST /team-projects");
    }
    const method = await ask([{ method: "DELETE", path: "/team-projects" }]);
    expect([pointers(method), details(method)]).toEqual([
      ["/data/attributes/changes/0/method"],
      ["Method must be one of: POST, for a change of access at this path"],
    ]);
  });

  it("whose body is wrong, with every fault of all changes", async () => {
    const answer = await ask([
      { method: "POST", path: "/team-projects", body: resource("team-projects", { access: "most" }) },
      { method: "PATCH", path: `/workspaces/${workspace.id}`, body: resource("workspaces", { description: "x" }) },
      { method: "PATCH", path: `/teams/${team.id}` },
      { method: "POST", path: "/nowhere" },
    ]);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual([
      "/data/attributes/changes/0/body/data/attributes/access",
      "/data/attributes/changes/0/body/data/relationships/team",
      "/data/attributes/changes/0/body/data/relationships/project",
      "/data/attributes/changes/1/body/data/relationships/project",
      "/data/attributes/changes/2/body/data",
      "/data/attributes/changes/3/path",
    ]);
  });

  it("that the database refuses, with all of them and their positions", async () => {
    const answer = await ask([
      give("read", readers.id),
      give("read"),
      joining(team.id, "nobody-at-all"),
      give("write"),
    ]);
    expect(pointers(answer)).toEqual([
      "/data/attributes/changes/0/body/data/relationships/team",
      "/data/attributes/changes/2/body/data/0/id",
      "/data/attributes/changes/3/body/data/relationships/team",
    ]);
    expect(answer.status).toBe(422);
  });

  it("404 for the project of a move that does not exist, as for one that the caller can't see", async () => {
    const body = resource("workspaces", {}, inProject("prj-none"));
    expect((await ask([{ method: "PATCH", path: `/workspaces/${workspace.id}`, body }])).status).toBe(404);
  });

  it("none, too many, without method or path, of another type", async () => {
    const refused = async (attributes: object, type = "access-previews") => {
      const answer = await org.owner.post(`/organizations/${org.name}/access-previews`, resource(type, attributes));
      expect(answer.status).toBe(422);
      return pointers(answer);
    };
    expect(await refused({})).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: [] })).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: Array(101).fill(give()) })).toEqual(["/data/attributes/changes"]);
    expect(await refused({ changes: [{ method: "GET" }] })).toEqual([
      "/data/attributes/changes/0/method",
      "/data/attributes/changes/0/path",
    ]);
    expect(await refused({ changes: [give()], apply: true })).toEqual(["/data/attributes/access-version"]);
    expect(await refused({ changes: [give()] }, "previews")).toEqual(["/data/type"]);
  });

  it("accepts a hundred", async () => {
    const changes = Array.from({ length: 100 }, (_, index) => permitting(team.id, "read-projects", index % 2 === 0));
    expect((await previewOf(org.owner, org.name, ...changes)).gains).toEqual([]);
  });
});
