/** Applied changes have exactly the previewed effects, according to the access explanations of everybody affected. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { sampled } from "../../../support/engine-independent.ts";
import { fingerprint } from "../../../support/database-snapshots.ts";

const api = useApi();
const patience = deep(120_000, 900_000);

const projectLevel = fc.constantFrom("read", "write", "maintain", "admin");
const workspaceLevel = fc.constantFrom("read", "plan", "write", "admin");
const permission = fc.constantFrom(
  "manage-workspaces",
  "read-workspaces",
  "manage-projects",
  "read-projects",
  "manage-membership",
);
const spot = fc.nat(2);
const scene = fc.record({
  forceDelete: fc.boolean(),
  teams: fc.array(
    fc.record({
      organization: fc.option(permission, { freq: 2 }),
      onProject: fc.option(fc.tuple(fc.nat(1), projectLevel), { freq: 3 }),
      onWorkspace: fc.option(fc.tuple(spot, workspaceLevel), { freq: 3 }),
      people: fc.subarray([0, 1]),
    }),
    { minLength: 3, maxLength: 3 },
  ),
});
const step = fc.record({
  kind: fc.constantFrom(
    "give project",
    "give workspace",
    "change",
    "take",
    "join",
    "leave",
    "organization",
    "move",
    "move one",
    "drop team",
    "drop member",
  ),
  team: spot,
  project: fc.nat(1),
  workspace: spot,
  person: fc.nat(1),
  projectLevel,
  workspaceLevel,
  permission,
});

interface Stage {
  readonly org: Org;
  readonly projects: readonly string[];
  readonly workspaces: readonly string[];
  readonly teams: readonly string[];
  readonly people: readonly Member[];
  /** Their tokens, to ask with. */
  readonly tokens: readonly Caller[];
  readonly records: readonly { readonly path: string }[];
}

async function makeStage({ forceDelete, teams }: Json): Promise<Stage> {
  const org = await api.makeOrganization({ "allow-force-delete-workspaces": forceDelete });
  const [first, second] = [await api.makeProject(org.name), await api.makeProject(org.name)];
  const projects = [first.id, second.id];
  const workspaces: string[] = [];
  for (const project of [first.id, first.id, second.id])
    workspaces.push((await api.makeWorkspace(org.name, {}, inProject(project))).id);
  const people = [await api.makeMember(org.name), await api.makeMember(org.name)];
  const ids: string[] = [];
  const tokens: Caller[] = [];
  const records: { path: string }[] = [];
  for (const { organization, onProject: project, onWorkspace: workspace, people: members } of teams) {
    const access = organization === null ? {} : { "organization-access": { [organization]: true } };
    const { id } = await api.makeTeam(org.name, access);
    ids.push(id);
    tokens.push(await api.makeTeamToken(id));
    if (project !== null)
      records.push({
        path: `/team-projects/${(await api.makeTeamProject(projects[project[0]] ?? "", id, { access: project[1] })).id}`,
      });
    if (workspace !== null) {
      const record = await api.makeTeamWorkspace(workspaces[workspace[0]] ?? "", id, { access: workspace[1] });
      records.push({ path: `/team-workspaces/${record.id}` });
    }
    const users = members.map((index: number) => ({ type: "users", id: people[index]?.username }));
    if (users.length > 0) data(await api.admin.post(`/teams/${id}/relationships/users`, { data: users }));
  }
  return { org, projects: [...projects, org.defaultProjectId], workspaces, teams: ids, people, tokens, records };
}

/** The request of a step; undefined if there is nothing to change. */
function requestOf({ projects, workspaces, teams, people, records }: Stage, one: Json): Json {
  const team = teams[one.team] ?? "";
  const [project = "", workspace = ""] = [projects[one.project], workspaces[one.workspace]];
  const users = { data: [{ type: "users", id: people[one.person]?.username }] };
  const memberships = { data: [{ type: "organization-memberships", id: people[one.person]?.membershipId }] };
  const record = records[one.team % Math.max(records.length, 1)];
  switch (one.kind) {
    case "give project":
      return {
        method: "POST",
        path: "/api/v2/team-projects",
        body: resource("team-projects", { access: one.projectLevel }, onProject(project, team)),
      };
    case "give workspace":
      return {
        method: "POST",
        path: "/team-workspaces",
        body: resource("team-workspaces", { access: one.workspaceLevel }, onWorkspace(workspace, team)),
      };
    case "change": {
      if (record === undefined) return undefined;
      const isProject = record.path.startsWith("/team-projects");
      const access = isProject ? one.projectLevel : one.workspaceLevel;
      return {
        method: "PATCH",
        path: record.path,
        body: resource(isProject ? "team-projects" : "team-workspaces", { access }),
      };
    }
    case "take":
      return record && { method: "DELETE", path: record.path };
    case "join":
      return { method: "POST", path: `/teams/${team}/relationships/users`, body: users };
    case "leave":
      return { method: "DELETE", path: `/teams/${team}/relationships/organization-memberships`, body: memberships };
    case "organization":
      return {
        method: "PATCH",
        path: `/teams/${team}`,
        body: resource("teams", { "organization-access": { [one.permission]: one.person === 0 } }),
      };
    case "move":
      return {
        method: "POST",
        path: `/projects/${project}/relationships/workspaces`,
        body: { data: [{ type: "workspaces", id: workspace }] },
      };
    case "move one":
      return {
        method: "PATCH",
        path: `/workspaces/${workspace}`,
        body: resource("workspaces", {}, inProject(project)),
      };
    case "drop team":
      return { method: "DELETE", path: `/teams/${team}` };
    default:
      return { method: "DELETE", path: `/organization-memberships/${people[one.person]?.membershipId}` };
  }
}

type AccessBySubject = Map<string, Record<string, boolean>>;

/** Everybody's access to everything, according to the explanations; by subject and target. */
async function readAccess({ org, projects, workspaces, teams, people, tokens }: Stage): Promise<AccessBySubject> {
  const access: AccessBySubject = new Map();
  const paths = [...projects.map((id) => `/projects/${id}`), ...workspaces.map((id) => `/workspaces/${id}`)];
  const subjects = [
    ...teams.map((id) => ({ id, filter: `filter[team][id]=${id}` })),
    ...people.map(({ id }) => ({ id, filter: `filter[user][id]=${id}` })),
  ];
  for (const { id, filter } of subjects)
    for (const path of paths) {
      const answer = await org.owner.get(`${path}/access?${filter}`);
      access.set(`${id} ${path}`, answer.status === 200 ? data(answer).attributes.can : {});
    }
  const callers = [
    ...people.map((person) => ({ id: person.id, caller: person as Caller })),
    ...teams.map((id, index) => ({ id, caller: tokens[index] })),
  ];
  for (const { id, caller } of callers) {
    const answer = await caller?.get(`/organizations/${org.name}`);
    access.set(`${id} organization`, answer?.status === 200 ? data(answer).attributes.permissions : {});
  }
  return access;
}

/** What `now` allows in addition to `before`, in the form of a preview: `subject target permission`. */
function addedPermissions(before: AccessBySubject, now: AccessBySubject): string[] {
  return [...now]
    .flatMap(([key, can]) =>
      Object.entries(can)
        .filter(([name, may]) => may && before.get(key)?.[name] !== true)
        .map(([name]) => `${key} ${name}`),
    )
    .toSorted();
}

const permissionLines = (differences: Json): string[] =>
  differences
    .flatMap(({ subject, organization, projects, workspaces }: Json) => [
      ...organization.map((name: string) => `${subject.id} organization ${name}`),
      ...[
        ["projects", projects],
        ["workspaces", workspaces],
      ].flatMap(([type, shares]) =>
        shares.flatMap(({ permissions, named, count }: Json) => {
          expect(count).toBe(named.length);
          return named.flatMap(({ id }: Json) =>
            permissions.map((name: string) => `${subject.id} /${type}/${id} ${name}`),
          );
        }),
      ),
    ])
    .toSorted();

it(
  "what was previewed is what happens",
  async () => {
    let applied = 0;
    await fc.assert(
      fc.asyncProperty(scene, fc.array(step, { minLength: 1, maxLength: 4 }), async (given, steps) => {
        const stage = await makeStage(given);
        const changes = steps.flatMap((one) => requestOf(stage, one) ?? []);
        if (changes.length === 0) return;
        const path = `/organizations/${stage.org.name}/access-previews`;
        const before = await readAccess(stage);
        const untouched = await fingerprint(api.database);
        const preview = await stage.org.owner.post(path, resource("access-previews", { changes }));
        expect(preview.status, JSON.stringify(preview.body)).toBeLessThan(500);
        // Some conflict: a second record of a team, or a team that was deleted by then.
        if (preview.status !== 200) return;
        const { "access-version": version, allowed, gains, losses } = data(preview).attributes;
        expect(await fingerprint(api.database), "a preview changes nothing").toBe(untouched);
        const asked = resource("access-previews", { changes, apply: true, "access-version": version });
        const answer = await stage.org.owner.post(path, asked);
        // A later change of what an earlier one removed fails, and then none is applied.
        if (!allowed) {
          expect([404, 409]).toContain(answer.status);
          expect(await fingerprint(api.database)).toBe(untouched);
          return;
        }
        const done = data(answer).attributes;
        expect([done.applied, done.gains, done.losses]).toEqual([true, gains, losses]);
        const after = await readAccess(stage);
        const ours = new Set([...stage.teams, ...stage.people.map(({ id }) => id)]);
        const concerned = (all: Json) => all.filter(({ subject }: Json) => ours.has(subject.id));
        expect(permissionLines(concerned(gains)), JSON.stringify(changes)).toEqual(addedPermissions(before, after));
        expect(permissionLines(concerned(losses)), JSON.stringify(changes)).toEqual(addedPermissions(after, before));
        applied += 1;
      }),
      { numRuns: sampled(deep(12, 400)), seed },
    );
    expect(applied).toBeGreaterThan(3);
  },
  patience,
);
