/** The job `ended-access` removes expired access, with an audit event, once; valid access stays. */
import { beforeAll, expect, it } from "vitest";
import { createVault } from "../../src/database/vault.ts";
import { jobs } from "../../src/jobs/index.ts";
import { BackgroundJobRunner } from "../../src/jobs/runner.ts";
import { operatorContext } from "../../src/service.ts";
import { type Json, useApi } from "../support/api.ts";
import { data, type Member, type Org } from "../support/builders.ts";
import { inMs } from "../support/clock.ts";

const api = useApi();
const hourMs = 3_600_000;

const run = () =>
  new BackgroundJobRunner({
    database: api.audited,
    vault: createVault(Buffer.alloc(32, 7)),
    options: operatorContext(api.database, { organizationCreation: "site-admins" }, "test").options,
    jobs,
  }).runNow("ended-access");

interface Scene {
  readonly org: Org;
  readonly team: Json;
  readonly member: Member;
  readonly records: readonly string[];
}

/** An organization with a team of one member that has access to a project and a workspace, all of it with an expiry. */
async function makeScene(): Promise<Scene> {
  const org = await api.makeOrganization();
  const team = await api.makeTeam(org.name, { "organization-access": { "read-projects": true } });
  const member = await api.makeMember(org.name);
  const workspace = await api.makeWorkspace(org.name);
  const grant = { access: "read", "expires-at": inMs(hourMs), reason: "a test" };
  const onProject = await api.makeTeamProject(org.defaultProjectId, team.id, grant);
  const onWorkspace = await api.makeTeamWorkspace(workspace.id, team.id, grant);
  const meta = { "expires-at": inMs(hourMs), reason: "a test" };
  await org.owner.post(`/teams/${team.id}/relationships/users`, { data: [{ type: "users", id: member.id, meta }] });
  return { org, team, member, records: [onProject.id, onWorkspace.id] };
}

/** The job uses the database's clock, which tests can't change: they change the expiry instead. */
const letEnd = ({ org }: Scene) =>
  api.database.write(async ({ db }) => {
    for (const table of ["teamMembers", "teamProjects", "teamWorkspaces"] as const)
      await db
        .updateTable(table as "teamProjects")
        .set({ expiresAt: inMs(-hourMs) })
        .where("organizationId", "=", org.id)
        .where("expiresAt", "is not", null)
        .execute();
  });

const eventsOf = (subjectIds: readonly string[]) =>
  api.database.reader.db
    .selectFrom("auditEvents")
    .selectAll()
    .where("subjectId", "in", subjectIds)
    .where("action", "like", "%.expire%")
    .orderBy("action")
    .execute();

const left = async ({ org }: Scene) => {
  const { db } = api.database.reader;
  const count = async (table: "teamMembers" | "teamProjects" | "teamWorkspaces") =>
    (
      await db
        .selectFrom(table as "teamProjects")
        .select("teamId")
        .where("organizationId", "=", org.id)
        .where("expiresAt", "is not", null)
        .execute()
    ).length;
  return [await count("teamMembers"), await count("teamProjects"), await count("teamWorkspaces")];
};

let ended: Scene;
let other: Scene;
let living: Scene;
beforeAll(async () => {
  [ended, other, living] = [await makeScene(), await makeScene(), await makeScene()];
});

it("removes expired access of every organization, records each end once, and keeps the rest", async () => {
  const tagOf = async () =>
    (await ended.org.owner.get(`/organization-memberships/${ended.member.membershipId}`)).headers.get("etag");
  await letEnd(ended);
  await letEnd(other);
  const tag = await tagOf();
  expect(await run()).toEqual({ handled: 6 });
  expect([await left(ended), await left(other), await left(living)]).toEqual([
    [0, 0, 0],
    [0, 0, 0],
    [1, 1, 1],
  ]);
  expect(await tagOf()).not.toBe(tag);
  const events = await eventsOf([ended.team.id, ...ended.records]);
  expect(events.map(({ action }) => action)).toEqual([
    "team-projects.expire",
    "team-workspaces.expire",
    "teams.expire-members",
  ]);
  for (const event of events) {
    expect(event).toMatchObject({ actorKind: "operator", organizationId: ended.org.id, after: null });
    expect(event.requestId).toMatch(/^job-ended-access-/);
  }
  expect(JSON.parse(events[0]?.before ?? "")).toMatchObject({
    access: "read",
    reason: "a test",
    team: ended.team.id,
    project: ended.org.defaultProjectId,
  });
  expect(JSON.parse(events[2]?.before ?? "")).toMatchObject({
    members: [{ membership: ended.member.membershipId, username: ended.member.username, reason: "a test" }],
  });
  expect(await run()).toEqual({ handled: 0 });
  expect(await eventsOf([ended.team.id, ...ended.records])).toHaveLength(3);
});

it("keeps counters correct, and allows new records", async () => {
  const { org, team, member } = other;
  const rows = await api.database.reader.db
    .selectFrom("teams as t")
    .innerJoin("projects as p", "p.organizationId", "t.organizationId")
    .select(["t.usersCount", "p.teamCount"])
    .where("t.id", "=", team.id)
    .execute();
  expect(rows).toEqual([{ usersCount: 0, teamCount: 0 }]);
  const again = await api.makeTeamProject(org.defaultProjectId, team.id, { access: "admin" });
  expect(again.attributes["expires-at"]).toBeNull();
  await org.owner.post(`/teams/${team.id}/relationships/users`, { data: [{ type: "users", id: member.id }] });
  expect(data(await org.owner.get(`/teams/${team.id}`)).attributes["users-count"]).toBe(1);
});
