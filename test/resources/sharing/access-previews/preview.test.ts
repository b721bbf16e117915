/** Previews of changes of access: what is shown, to whom, and what is refused. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, details, inProject, type Member, type Org, pointers, resource } from "../../../support/builders.ts";
import {
  requestPreview,
  projectGrant,
  workspaceGrant,
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
let workspaces: Json[];
/** Has nothing yet; `grace` is in it. */
let team: Json;
let grace: Member;
/** A member of a team that reads the project. */
let reader: Member;
let readers: Json;

beforeAll(async () => {
  org = await api.makeOrganization();
  project = (await api.makeProject(org.name, { name: "network" })).id;
  workspaces = [];
  for (const name of ["alpha", "beta", "gamma"])
    workspaces.push(await api.makeWorkspace(org.name, { name }, inProject(project)));
  team = await api.makeTeam(org.name, { name: "builders" });
  grace = await api.makeMember(org.name, [team.id]);
  readers = await api.makeTeam(org.name, { name: "readers" });
  reader = await api.makeMember(org.name, [readers.id]);
  await api.makeTeamProject(project, readers.id, { access: "read" });
});

const ask = (caller: Caller, changes: readonly Json[]) => requestPreview(caller, org.name, changes);
const preview = (caller: Caller, ...changes: readonly Json[]) => previewOf(caller, org.name, ...changes);
const give = (access = "read", teamId: string = team.id, projectId = project) =>
  projectGrant(access, teamId, projectId);
const giveOne = (access: string, workspaceId: string) => workspaceGrant(access, team.id, workspaceId);
const join = (username: string, teamId: string = team.id) => joining(teamId, username);
const organizationAccess = (permission: string, value = true, teamId: string = team.id) =>
  permitting(teamId, permission, value);
const move = (workspaceId: string, projectId: string) => moving(projectId, workspaceId);

const subjects = (differences: Json): string[] => differences.map(({ subject }: Json) => subject.name);
const readingOne = ["can-read-run", "can-read-settings", "can-read-assessment-results"];

describe("previewAccess", () => {
  it("shows what a team and each of its members would gain, on which and how many workspaces, and writes nothing", async () => {
    const before = await fingerprint(api.database);
    const answer = data(await ask(org.owner, [give("read")]));
    expect(await fingerprint(api.database)).toBe(before);
    expect(answer).toMatchObject({
      type: "access-previews",
      relationships: { organization: { data: { type: "organizations", id: org.name } } },
    });
    const { gains, losses, ...rest } = answer.attributes;
    expect(rest).toEqual({
      "access-version": expect.any(String),
      applied: false,
      allowed: true,
      changes: [{ method: "POST", path: "/team-projects", allowed: true, refusal: null, rules: [] }],
      "unseen-gains": { teams: 0, users: 0 },
      "unseen-losses": { teams: 0, users: 0 },
    });
    expect(losses).toEqual([]);
    expect(gains.map(({ subject }: Json) => subject)).toEqual([
      { type: "teams", id: team.id, name: "builders" },
      { type: "users", id: grace.id, name: grace.username },
    ]);
    for (const gain of gains) {
      expect(gain).toMatchObject({ organization: [], "project-count": 1, "workspace-count": 3 });
      expect(gain.projects).toEqual([
        { permissions: ["can-read"], count: 1, named: [{ id: project, name: "network" }] },
      ]);
      expect(gain.workspaces).toHaveLength(1);
      expect(gain.workspaces[0]).toMatchObject({
        permissions: expect.arrayContaining(readingOne),
        count: 3,
        named: workspaces.map(({ id, attributes: { name } }) => ({ id, name })),
      });
      expect(gain.workspaces[0].permissions).not.toContain("can-queue-run");
    }
  });

  it("groups what is gained on different workspaces, and leaves out what is granted already", async () => {
    const { gains } = await preview(org.owner, giveOne("write", workspaces[1].id), give("read"));
    const [{ workspaces: shares }] = gains;
    const by = (permission: string) =>
      shares.find(({ permissions }: Json) => permissions.includes(permission)).named.map(({ name }: Json) => name);
    expect(shares.map(({ count }: Json) => count).toSorted()).toEqual([1, 2]);
    expect(by("can-queue-apply")).toEqual(["beta"]);
    const again = await preview(org.owner, join(reader.username), give("read"));
    expect(subjects(again.gains)).toEqual(["builders", grace.username]);
  });

  it("applies changes in order, each on the result of the previous ones", async () => {
    const record = await api.makeTeamWorkspace(workspaces[0].id, team.id, { access: "admin" });
    const { gains, losses, allowed } = await preview(
      org.owner,
      { method: "DELETE", path: `/api/v2/team-workspaces/${record.id}` },
      giveOne("read", workspaces[0].id),
    );
    expect([allowed, gains]).toEqual([true, []]);
    expect(subjects(losses)).toEqual(["builders", grace.username]);
    expect(losses[0].workspaces[0].permissions).toEqual(expect.arrayContaining(["can-update", "can-lock"]));
    expect(losses[0].workspaces[0].permissions).not.toContain("can-read-run");
    data(await api.admin.delete(`/team-workspaces/${record.id}`));
  });

  it("names the first ten of what it counts, even if others have records on some of them", async () => {
    const crowded = (await api.makeProject(org.name, { name: "crowded" })).id;
    const names = Array.from({ length: 12 }, (_, index) => `crowd-${String(index).padStart(2, "0")}`);
    const made: Json[] = [];
    for (const name of names) made.push(await api.makeWorkspace(org.name, { name }, inProject(crowded)));
    await api.makeTeamWorkspace(made[3].id, readers.id, { access: "read" });
    await api.makeTeamWorkspace(made[4].id, team.id, { access: "read" });
    const { gains } = await preview(org.owner, give("read", team.id, crowded));
    const [{ count, named }] = gains[0].workspaces;
    expect([count, named.map(({ name }: Json) => name)]).toEqual([
      11,
      names.filter((name) => name !== "crowd-04").slice(0, 10),
    ]);
    data(
      await api.admin.delete(
        `/team-workspaces/${(await api.admin.get(`/team-workspaces?filter[workspace][id]=${made[4].id}`)).body.data[0].id}`,
      ),
    );
    for (const { id } of made) data(await api.admin.delete(`/workspaces/${id}`));
    data(await api.admin.delete(`/projects/${crowded}`));
  });

  it("shows organization-level permissions, and the access everywhere that they give", async () => {
    const { gains } = await preview(org.owner, organizationAccess("manage-projects"));
    expect(gains[0].organization).toEqual(["can-create-project", "can-create-workspace"]);
    expect([gains[0]["project-count"], gains[0]["workspace-count"]]).toEqual([2, 3]);
    const owning = await preview(org.owner, join(reader.username, org.ownersTeamId));
    expect(subjects(owning.gains)).toEqual([reader.username]);
    expect(owning.gains[0].workspaces[0].permissions).toContain("can-force-delete");
  });

  it("shows what a user loses who leaves the organization", async () => {
    const watching = await api.makeTeam(org.name);
    await api.makeTeamProject(project, watching.id, { access: "read" });
    const goes = await api.makeMember(org.name, [watching.id]);
    const { losses } = await preview(org.owner, {
      method: "DELETE",
      path: `/organization-memberships/${goes.membershipId}`,
    });
    expect(subjects(losses)).toEqual([goes.username]);
    expect(losses[0]).toMatchObject({ organization: ["can-traverse"], "project-count": 1, "workspace-count": 3 });
    data(await api.admin.delete(`/teams/${watching.id}`));
  });

  it("shows what a deleted team loses", async () => {
    const { losses } = await preview(org.owner, { method: "DELETE", path: `/teams/${readers.id}` });
    expect(subjects(losses)).toEqual(["readers", reader.username]);
    // They stay members; the team no longer exists.
    expect(losses.map(({ organization }: Json) => organization)).toEqual([["can-traverse"], []]);
  });

  it("shows what moves change, by both operations and by name", async () => {
    const elsewhere = (await api.makeProject(org.name)).id;
    const moved = resource("workspaces", {}, inProject(elsewhere));
    const ways = [
      move(workspaces[0].id, elsewhere),
      { method: "PATCH", path: `/workspaces/${workspaces[0].id}`, body: moved },
      { method: "PATCH", path: `/api/v2/organizations/${org.name}/workspaces/alpha`, body: moved },
    ];
    for (const way of ways) {
      const { losses, gains } = await preview(org.owner, way);
      expect([subjects(losses), gains]).toEqual([["readers", reader.username], []]);
      expect(losses[0].workspaces.map(({ named }: Json) => named)).toEqual([[{ id: workspaces[0].id, name: "alpha" }]]);
    }
  });

  it("works with every kind of token of the organization", async () => {
    for (const caller of [await api.makeOrganizationToken(org.name), await api.makeTeamToken(readers.id), api.admin])
      expect((await ask(caller, [give("read")])).status).toBe(200);
  });
});

describe("a change that the caller can't make", () => {
  it("is shown with its own refusal, and with its effects", async () => {
    const result = await preview(reader, give("read"), join(reader.username));
    expect(result.allowed).toBe(false);
    const own = [
      await reader.post("/team-projects", give("read").body),
      await reader.post(join(reader.username).path, join(reader.username).body),
    ];
    expect(result.changes).toEqual(
      [give("read"), join(reader.username)].map(({ method, path }, index) => ({
        method,
        path,
        allowed: false,
        refusal: details(own[index] as Answer)[0],
        rules: [],
      })),
    );
    expect(subjects(result.gains)).toEqual(["builders", grace.username]);
  });

  it("next to one that they can make has its own result", async () => {
    const leave = leaving(readers.id, reader.username);
    const own = { method: "DELETE", path: `/organization-memberships/${reader.membershipId}` };
    const result = await preview(reader, leave, own);
    expect(result.changes.map(({ allowed }: Json) => allowed)).toEqual([false, true]);
    expect(result.allowed).toBe(false);
  });

  it("reveals nothing else about the body, such as a name that a secret team has taken", async () => {
    await api.makeTeam(org.name, { name: "hush", visibility: "secret" });
    const rename = (name: string) => ({
      method: "PATCH",
      path: `/teams/${team.id}`,
      body: resource("teams", { name, "organization-access": { "read-projects": true } }),
    });
    const [taken, free] = [await preview(reader, rename("hush")), await preview(reader, rename("free"))];
    expect(taken.gains).toEqual(free.gains);
    expect(taken.gains).not.toEqual([]);
  });

  it("that nobody can make at present changes nothing", async () => {
    const leave = leaving(org.ownersTeamId, "admin", org.owner.username);
    const result = await preview(org.owner, leave, give("read"));
    expect(result.changes[0]).toMatchObject({
      allowed: false,
      refusal: expect.stringContaining("without a permanent owner"),
    });
    expect([result.changes[1].allowed, result.allowed, result.losses]).toEqual([true, false, []]);
    expect(subjects(result.gains)).toEqual(["builders", grace.username]);
  });
});

describe("a change that follows on others", () => {
  it("and removes what the caller can see is refused, but shown", async () => {
    const leave = leaving(org.ownersTeamId, org.owner.username);
    const result = await preview(org.owner, leave, give("read"));
    expect(result.changes.map(({ allowed }: Json) => allowed)).toEqual([true, false]);
    expect(result.changes[1].refusal).toContain("There is no such project");
    expect(subjects(result.gains)).toEqual(["builders", grace.username]);
    expect(subjects(result.losses)).toEqual([org.owner.username]);
  });

  it("and refers to what they removed is refused, and changes nothing", async () => {
    const result = await preview(org.owner, { method: "DELETE", path: `/teams/${team.id}` }, give("read"));
    expect(result.changes.map(({ allowed }: Json) => allowed)).toEqual([true, false]);
    expect(result.gains).toEqual([]);
  });

  it("404: refers to something that the caller never could see", async () => {
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const answer = await ask(reader, [join(reader.username), organizationAccess("read-projects", true, secret.id)]);
    expect([answer.status, pointers(answer)]).toEqual([404, ["/data/attributes/changes/1"]]);
  });
});

describe("what the caller can't see", () => {
  it("workspaces and projects are counted, never named", async () => {
    const onlyOne = await api.makeTeam(org.name);
    const watcher = await api.makeMember(org.name, [onlyOne.id]);
    await api.makeTeamWorkspace(workspaces[2].id, onlyOne.id, { access: "read" });
    const { gains } = await preview(watcher, organizationAccess("read-projects"));
    expect(gains[0]).toMatchObject({ "project-count": 3, "workspace-count": 3 });
    expect(gains[0].projects[0].named).toEqual([]);
    expect(gains[0].workspaces[0].named).toEqual([{ id: workspaces[2].id, name: "gamma" }]);
  });

  it("secret teams and those who are only in them are counted, never named", async () => {
    const hidden = await api.makeTeam(org.name, { visibility: "secret" });
    const spy = await api.makeMember(org.name, [hidden.id]);
    await api.makeTeamProject(project, hidden.id, { access: "write" });
    const elsewhere = (await api.makeProject(org.name)).id;
    await api.makeTeamProject(elsewhere, readers.id, { access: "read" });
    const result = await ask(reader, [move(workspaces[0].id, elsewhere)]);
    const { losses, "unseen-losses": unseen } = data(result).attributes;
    expect([losses, unseen]).toEqual([[], { teams: 1, users: 1 }]);
    expect(JSON.stringify(result.body)).not.toContain(hidden.id);
    expect(JSON.stringify(result.body)).not.toContain(spy.id);
    const owners = await preview(org.owner, move(workspaces[0].id, elsewhere));
    expect(subjects(owners.losses)).toEqual([hidden.attributes.name, spy.username]);
  });

  it("404: a change of what they can't read, or what does not exist, or is another organization's", async () => {
    const secret = await api.makeTeam(org.name, { visibility: "secret" });
    const unreadable = (await api.makeProject(org.name)).id;
    const other = await api.makeOrganization();
    const foreign = await api.makeTeam(other.name);
    const away = await api.makeWorkspace(other.name);
    const hiddenOne = await api.makeWorkspace(org.name, {}, inProject(unreadable));
    const byName = (name: string, organization = org.name) => ({
      method: "PATCH",
      path: `/organizations/${organization}/workspaces/${name}`,
      body: resource("workspaces", {}, inProject(project)),
    });
    const toUnreadable = { ...byName(""), path: `/workspaces/${workspaces[0].id}` };
    const cases: [Caller, Json][] = [
      [reader, organizationAccess("read-projects", true, secret.id)],
      [reader, organizationAccess("read-projects", true, "team-none")],
      [reader, give("read", team.id, unreadable)],
      [reader, give("read", team.id, "prj-none")],
      [reader, move(workspaces[0].id, unreadable)],
      [reader, move(hiddenOne.id, project)],
      [reader, move("ws-none", project)],
      [reader, { ...toUnreadable, body: resource("workspaces", {}, inProject(unreadable)) }],
      [reader, byName(hiddenOne.attributes.name)],
      [reader, byName("nothing-is-called-so")],
      [api.admin, organizationAccess("read-projects", true, foreign.id)],
      [api.admin, give("read", foreign.id)],
      [api.admin, move(away.id, project)],
      [api.admin, { method: "DELETE", path: "/team-projects/tprj-none" }],
      [api.admin, byName(away.attributes.name, other.name)],
    ];
    const fine = give("read");
    const bad = join("nobody-at-all");
    const missing = byName("nothing-is-called-so-either");
    for (const [caller, change] of cases) {
      // With the same message and pointer, whatever else the request contains, and whether or not it is applied.
      const questions: [readonly Json[], number][] = [
        [[change], 0],
        [[fine, change], 1],
        [[change, missing], 0],
        [[bad, change], 1],
      ];
      for (const [changes, position] of questions) {
        const answer = await ask(caller, changes);
        expect([answer.status, pointers(answer)], JSON.stringify(changes)).toEqual([
          404,
          [`/data/attributes/changes/${position}`],
        ]);
        expect(details(answer)[0]).toContain("names something that does not exist, or that you are not allowed to see");
      }
    }
    const version = (await preview(reader, fine))["access-version"];
    for (const change of [byName(hiddenOne.attributes.name), missing]) {
      const attributes = { changes: [fine, change], "access-version": version, apply: true };
      const answer = await reader.post(
        `/organizations/${org.name}/access-previews`,
        resource("access-previews", attributes),
      );
      expect([answer.status, pointers(answer)]).toEqual([404, ["/data/attributes/changes/1"]]);
    }
    expect((await ask(other.owner, [give("read")])).status).toBe(404);
    expect((await ask(grace, [give("read")])).status).toBe(404);
  });
});
