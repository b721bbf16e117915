/** Properties that hold for all grants, through the real database and over HTTP. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Member, onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { sampled } from "../../../support/engine-independent.ts";

const api = useApi();
/** Deep runs take minutes. */
const patience = deep(120_000, 900_000);

interface Place {
  readonly org: Org;
  readonly project: Json;
  readonly workspace: Json;
}

async function makePlace(): Promise<Place> {
  const org = await api.makeOrganization();
  const project = await api.makeProject(org.name);
  return { org, project, workspace: await api.makeWorkspace(org.name, {}, inProject(project.id)) };
}

/** How high each value stands; a permission of more than one ladder's word is compared within its own ladder. */
const ladders: Record<string, readonly unknown[]> = {
  settings: ["none", "read", "update", "delete"],
  teams: ["none", "read", "manage"],
  runs: ["none", "read", "plan", "apply"],
  "policy-mocks": ["none", "read"],
  "state-versions": ["none", "read-outputs", "read", "write"],
  variables: ["none", "read", "write"],
  create: [false, true],
  move: [false, true],
  locking: [false, true],
  delete: [false, true],
  "run-tasks": [false, true],
  "workspace-admin": [false, true],
};
type Heights = Record<string, number>;

const heightsIn = (explanation: Json): Heights =>
  Object.fromEntries(
    Object.entries(ladders).map(([name, ladder]) => [
      name,
      ladder.indexOf(explanation.attributes.permissions[name].value),
    ]),
  );
const within = (low: Heights, high: Heights) =>
  Object.entries(low).every(([name, height]) => height <= (high[name] ?? -1));
const pathsOf = ({ project, workspace }: Place) => [`/projects/${project.id}`, `/workspaces/${workspace.id}`];
/** A user's access to the project and the workspace, as shown to an owner. */
const heldBy = async (place: Place, person: Member): Promise<Heights[]> =>
  Promise.all(
    pathsOf(place).map(async (path) =>
      heightsIn(data(await place.org.owner.get(`${path}/access?filter[user][id]=${person.id}`))),
    ),
  );

const projectRecord = fc.oneof(
  fc.constantFrom("read", "write", "maintain", "admin").map((access) => ({ access })),
  fc.record({
    access: fc.constant("custom"),
    "project-access": fc.record({
      settings: fc.constantFrom("read", "update", "delete"),
      teams: fc.constantFrom("none", "read", "manage"),
    }),
    "workspace-access": fc.record(
      {
        runs: fc.constantFrom("read", "plan", "apply"),
        "state-versions": fc.constantFrom("none", "read-outputs", "read", "write"),
        variables: fc.constantFrom("none", "read", "write"),
        create: fc.boolean(),
        move: fc.boolean(),
        locking: fc.boolean(),
        delete: fc.boolean(),
        "run-tasks": fc.boolean(),
      },
      { requiredKeys: [] },
    ),
  }),
);
const workspaceRecord = fc.oneof(
  fc.constantFrom("read", "plan", "write", "admin").map((access) => ({ access })),
  fc.record(
    {
      access: fc.constant("custom"),
      runs: fc.constantFrom("read", "plan", "apply"),
      variables: fc.constantFrom("none", "read", "write"),
      "state-versions": fc.constantFrom("none", "read-outputs", "read", "write"),
      "policy-mocks": fc.constantFrom("none", "read"),
      "workspace-locking": fc.boolean(),
      "run-tasks": fc.boolean(),
    },
    { requiredKeys: ["access"] },
  ),
);
const organizationPermission = fc.constantFrom(
  "manage-workspaces",
  "read-workspaces",
  "manage-projects",
  "read-projects",
  "manage-teams",
);
const team = fc.record({
  organization: fc.option(organizationPermission, { freq: 1 }),
  project: fc.option(projectRecord, { freq: 3 }),
  workspace: fc.option(workspaceRecord, { freq: 3 }),
});

async function put(place: Place, { organization, project, workspace }: Json): Promise<string> {
  const made = await api.makeTeam(place.org.name, {
    ...(organization !== null && { "organization-access": { [organization]: true } }),
  });
  if (project !== null) await api.makeTeamProject(place.project.id, made.id, project);
  if (workspace !== null) await api.makeTeamWorkspace(place.workspace.id, made.id, workspace);
  return made.id;
}

describe("for all grants", () => {
  it(
    "explanation and decision never differ, and the explained permissions are those of the documents",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(team, { maxLength: 3 }), async (teams) => {
          const place = await makePlace();
          const ids: string[] = [];
          for (const one of teams) ids.push(await put(place, one));
          const person = await api.makeMember(place.org.name, ids);
          for (const path of pathsOf(place)) {
            const explained = data(await place.org.owner.get(`${path}/access?filter[user][id]=${person.id}`)).attributes
              .can;
            const shown = await person.get(path);
            expect(shown.status === 200).toBe(explained["can-read"] ?? explained["can-read-settings"]);
            const itself = await person.get(`${path}/access`);
            expect(itself.status).toBe(shown.status);
            if (shown.status !== 200) continue;
            expect(explained).toMatchObject(data(shown).attributes.permissions);
            expect(data(itself).attributes.can).toEqual(explained);
          }
          const move = { data: [{ type: "workspaces", id: place.workspace.id }] };
          const [project = ""] = pathsOf(place);
          const onProject = data(await place.org.owner.get(`${project}/access?filter[user][id]=${person.id}`));
          const moved = await person.post(`${project}/relationships/workspaces`, move);
          expect(moved.status === 204).toBe(onProject.attributes.can["can-move-workspaces"]);
        }),
        { numRuns: sampled(deep(15, 600)), seed },
      );
    },
    patience,
  );

  it(
    "each team alone is in the list of teams as it is explained, or holds nothing",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(team, { maxLength: 3 }), async (teams) => {
          const place = await makePlace();
          const ids: string[] = [];
          for (const one of teams) ids.push(await put(place, one));
          for (const path of pathsOf(place)) {
            const listed = data(await place.org.owner.get(`${path}/team-access?page[size]=100`));
            for (const id of ids) {
              const alone = data(await place.org.owner.get(`${path}/access?filter[team][id]=${id}`));
              const item = listed.find((entry: Json) => entry.relationships.subject.data.id === id);
              const holds = Object.values(heightsIn(alone)).some((height) => height > 0);
              if (holds) expect(item).toEqual(alone);
              else expect(item).toBeUndefined();
            }
          }
        }),
        { numRuns: sampled(deep(8, 300)), seed },
      );
    },
    patience,
  );

  it(
    "a grant more never takes anything away, and a grant less never gives anything",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(team, { maxLength: 2 }), team, async (teams, added) => {
          const place = await makePlace();
          const ids: string[] = [];
          for (const one of teams) ids.push(await put(place, one));
          const extra = await put(place, added);
          const person = await api.makeMember(place.org.name, ids);
          const users = { data: [{ type: "users", id: person.username }] };
          const before = await heldBy(place, person);
          data(await place.org.owner.post(`/teams/${extra}/relationships/users`, users));
          const after = await heldBy(place, person);
          after.forEach((heights, index) => expect(within(before[index] ?? {}, heights)).toBe(true));
          for (const [type, filter] of [
            ["team-projects", `filter[project][id]=${place.project.id}`],
            ["team-workspaces", `filter[workspace][id]=${place.workspace.id}`],
          ] as const) {
            for (const record of data(await place.org.owner.get(`/${type}?${filter}`))) {
              const held = await heldBy(place, person);
              data(await place.org.owner.delete(`/${type}/${record.id}`));
              const left = await heldBy(place, person);
              left.forEach((heights, index) => expect(within(heights, held[index] ?? {})).toBe(true));
            }
          }
        }),
        { numRuns: sampled(deep(8, 300)), seed },
      );
    },
    patience,
  );
});

describe("no escalation", () => {
  const attempt = fc.record({
    by: fc.constantFrom("person", "token"),
    kind: fc.constantFrom("change", "change", "grant", "grant", "remove", "join", "token", "organization", "new team"),
    on: fc.constantFrom("project", "workspace"),
    team: fc.nat(2),
    project: projectRecord,
    workspace: workspaceRecord,
    permission: fc.constantFrom(
      "manage-workspaces",
      "manage-projects",
      "manage-teams",
      "manage-membership",
      "read-projects",
    ),
  });

  /** A caller who can manage access but has little: the one with the most to gain. */
  const managerRecord = fc.record({
    access: fc.constant("custom"),
    "project-access": fc.record({
      settings: fc.constantFrom("read", "update"),
      teams: fc.constant("manage"),
    }),
    "workspace-access": fc.record({ runs: fc.constantFrom("read", "plan"), locking: fc.boolean() }),
  });

  interface Cast extends Place {
    readonly person: Member;
    readonly token: Caller;
    readonly teams: string[];
  }

  /** Everything that a caller could try with a team: its record here, its members, its token, its permissions. */
  async function attemptAs(cast: Cast, one: Json): Promise<Caller | undefined> {
    const caller: Caller = one.by === "person" ? cast.person : cast.token;
    const teamId = cast.teams[one.team % cast.teams.length] ?? "";
    const type = `team-${one.on}s`;
    const thing = one.on === "project" ? cast.project.id : cast.workspace.id;
    const attributes = one.on === "project" ? one.project : one.workspace;
    const recordOf = async () => {
      const filter = `filter[${one.on}][id]=${thing}&page[size]=100`;
      const records = data(await cast.org.owner.get(`/${type}?${filter}`));
      return records.find((record: Json) => record.relationships.team.data.id === teamId)?.id ?? "none";
    };
    switch (one.kind) {
      case "grant": {
        const relationships = one.on === "project" ? onProject(thing, teamId) : onWorkspace(thing, teamId);
        await caller.post(`/${type}`, resource(type, attributes, relationships));
        return undefined;
      }
      case "change":
        await caller.patch(`/${type}/${await recordOf()}`, resource(type, attributes));
        return undefined;
      case "remove":
        await caller.delete(`/${type}/${await recordOf()}`);
        return undefined;
      case "join":
        await caller.post(`/teams/${teamId}/relationships/users`, {
          data: [{ type: "users", id: cast.person.username }],
        });
        return undefined;
      case "organization":
        await caller.patch(
          `/teams/${teamId}`,
          resource("teams", { "organization-access": { [one.permission]: true } }),
        );
        return undefined;
      case "new team": {
        const made = await caller.post(
          `/organizations/${cast.org.name}/teams`,
          resource("teams", { name: `made-${Date.now()}`, "organization-access": { [one.permission]: true } }),
        );
        if (made.status === 201) cast.teams.push(made.body.data.id);
        return undefined;
      }
      default: {
        const made = await caller.post(`/teams/${teamId}/authentication-token`);
        return made.status === 201 ? api.as(made.body.data.attributes.token) : undefined;
      }
    }
  }

  it(
    "no sequence of permitted calls raises a caller, or anyone it acts as, above what it was given",
    async () => {
      const managing = fc.record({
        organization: fc.subarray(["manage-teams", "manage-membership", "manage-organization-access", "read-projects"]),
        project: fc.oneof({ weight: 3, arbitrary: managerRecord }, { weight: 1, arbitrary: projectRecord }),
        workspace: fc.option(workspaceRecord),
        others: fc.array(team, { minLength: 2, maxLength: 2 }),
        attempts: fc.array(attempt, { minLength: 4, maxLength: 12 }),
      });
      await fc.assert(
        fc.asyncProperty(managing, async ({ organization, project, workspace, others, attempts }) => {
          const place = await makePlace();
          const own = await api.makeTeam(place.org.name, {
            "organization-access": Object.fromEntries(organization.map((name) => [name, true])),
          });
          await api.makeTeamProject(place.project.id, own.id, project);
          if (workspace !== null) await api.makeTeamWorkspace(place.workspace.id, own.id, workspace);
          const teams = [own.id];
          for (const other of others) teams.push(await put(place, other));
          const person = await api.makeMember(place.org.name, [own.id]);
          const cast: Cast = { ...place, person, token: await api.makeTeamToken(own.id), teams };
          const given = await heldBy(place, person);
          const [onProjectGiven = {}, onWorkspaceGiven = {}] = given;
          for (const one of attempts) {
            const actingAs = await attemptAs(cast, one);
            const held = await heldBy(place, person);
            held.forEach((heights, index) =>
              expect(within(heights, given[index] ?? {}), JSON.stringify(one)).toBe(true),
            );
            if (actingAs === undefined) continue;
            for (const [path, most] of [
              [`/projects/${place.project.id}/access`, onProjectGiven],
              [`/workspaces/${place.workspace.id}/access`, onWorkspaceGiven],
            ] as const) {
              const answer = await actingAs.get(path);
              if (answer.status === 200) expect(within(heightsIn(data(answer)), most), JSON.stringify(one)).toBe(true);
            }
          }
        }),
        { numRuns: sampled(deep(12, 500)), seed },
      );
    },
    patience,
  );
});
