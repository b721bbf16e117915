/** The reach of teams, users and tokens: the list agrees with actual access, in one order, with sources and totals. */
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type Caller, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, type Org } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { sampled, itInGate } from "../../../support/engine-independent.ts";

const api = useApi();

async function listed(caller: Caller, path: string, query = ""): Promise<Json> {
  const answer = await caller.get(`${path}${path.includes("?") ? "&" : "?"}page[size]=100${query}`);
  data(answer);
  return answer.body;
}
const targetIdOf = (item: Json) => item.id.split(":")[0];
const targetIds = (body: Json): string[] => body.data.map(targetIdOf);
const ofUser = (org: Org, id: string) => `/users/${id}/reach?filter[organization][name]=${org.name}`;

describe("listTeamReach: a team with a few records", () => {
  let org: Org;
  let team: Json;
  let [apples, berries, cherries]: Json[] = [];
  let [inApples, inBerries, aside]: Json[] = [];
  let record: Json;
  let single: Json;

  beforeAll(async () => {
    org = await api.makeOrganization({ "allow-force-delete-workspaces": false });
    team = await api.makeTeam(org.name);
    apples = await api.makeProject(org.name, { name: "apples" });
    berries = await api.makeProject(org.name, { name: "berries" });
    cherries = await api.makeProject(org.name, { name: "cherries" });
    inApples = await api.makeWorkspace(org.name, { name: "zebra" }, inProject(apples!.id));
    inBerries = await api.makeWorkspace(org.name, { name: "apples" }, inProject(berries!.id));
    aside = await api.makeWorkspace(org.name, { name: "middle" }, inProject(cherries!.id));
    await api.makeWorkspace(org.name, { name: "unreached" }, inProject(cherries!.id));
    record = await api.makeTeamProject(apples!.id, team.id, { access: "write" });
    await api.makeTeamProject(berries!.id, team.id, { access: "admin" });
    single = await api.makeTeamWorkspace(aside!.id, team.id, { access: "plan" });
    await api.makeTeamWorkspace(inApples!.id, team.id, { access: "read" });
  });

  const path = () => `/teams/${team.id}/reach`;

  it("lists projects and workspaces in one order, by name, with permissions and the grants that give them", async () => {
    const body = await listed(org.owner, path());
    expect(targetIds(body)).toEqual([apples!.id, inBerries!.id, berries!.id, aside!.id, inApples!.id]);
    const [project, , , alone, both] = body.data;
    expect(alone.attributes["project-name"]).toBe("cherries");
    expect(project).toMatchObject({
      id: `${apples!.id}:${team.id}`,
      type: "reaches",
      attributes: {
        kind: "project",
        name: "apples",
        "project-name": "apples",
        level: "write",
        permissions: { "can-read": true, "can-update": false, "can-destroy": false, "can-create-workspace": false },
        "hidden-sources": 0,
      },
      relationships: {
        subject: { data: { type: "teams", id: team.id } },
        project: { data: { type: "projects", id: apples!.id } },
      },
    });
    expect(project.relationships.workspace).toBeUndefined();
    expect(alone.attributes["given-by"]).toMatchObject([
      {
        kind: "team-workspace",
        type: "team-workspaces",
        id: single.id,
        team: { id: team.id, name: team.attributes.name },
        level: "plan",
      },
    ]);
    expect(alone.relationships.workspace.data).toEqual({ type: "workspaces", id: aside!.id });
    expect(alone.relationships.project.data).toEqual({ type: "projects", id: cherries!.id });
    expect(both.attributes["given-by"].map(({ id }: Json) => id)).toContain(record.id);
    expect(both.attributes["given-by"]).toHaveLength(2);
    expect(body.meta.pagination["total-count"]).toBe(5);
    expect(body.meta.totals).toEqual({
      projects: { read: 0, write: 1, maintain: 0, admin: 1, custom: 0 },
      workspaces: { read: 0, plan: 1, write: 1, admin: 1, custom: 0 },
    });
    expect(body.meta.hidden).toEqual({ projects: 0, workspaces: 0 });
  });

  it("a workspace has every can-* of its document, a project every one of its own", async () => {
    const token = await api.makeTeamToken(team.id);
    for (const { id, attributes } of (await listed(org.owner, path())).data) {
      const shown = await token.get(`/${attributes.kind}s/${id.split(":")[0]}`);
      const reading = attributes.kind === "project" ? { "can-read": true } : {};
      expect(attributes.permissions).toEqual({ ...data(shown).attributes.permissions, ...reading });
    }
  });

  it("sort=-name is the same backwards, and pages follow each other in both directions", async () => {
    const forwards = targetIds(await listed(org.owner, path(), "&sort=name"));
    const backwards = targetIds(await listed(org.owner, path(), "&sort=-name"));
    expect(backwards).toEqual(forwards.toReversed());
    for (const [sort, all] of [
      ["name", forwards],
      ["-name", backwards],
    ] as const) {
      const pages = [1, 2, 3, 4].map((number) =>
        org.owner.get(`${path()}?page[size]=2&page[number]=${number}&sort=${sort}`),
      );
      const found = (await Promise.all(pages)).map((answer) => targetIds(answer.body));
      expect(found).toEqual([all.slice(0, 2), all.slice(2, 4), all.slice(4), []]);
    }
  });

  it("filter[permission] finds targets with it, and the totals are those of the matches", async () => {
    const applying = await listed(org.owner, path(), "&filter[permission]=can-queue-apply");
    expect(targetIds(applying)).toEqual([inBerries!.id, inApples!.id]);
    expect(applying.meta.totals).toMatchObject({
      projects: { admin: 0, write: 0 },
      workspaces: { plan: 0, write: 1, admin: 1 },
    });
    const updating = await listed(org.owner, path(), "&filter[permission]=can-update");
    expect(targetIds(updating)).toEqual([inBerries!.id, berries!.id]);
    const creating = await listed(org.owner, path(), "&filter[permission]=can-create-workspace");
    expect(targetIds(creating)).toEqual([berries!.id]);
    expect(targetIds(await listed(org.owner, path(), "&filter[permission]=can-force-delete"))).toEqual([]);
  });

  it("can-force-delete follows the organization's setting, and ownership", async () => {
    const forcing = "&filter[permission]=can-force-delete";
    const owners = await listed(org.owner, `/teams/${org.ownersTeamId}/reach`, forcing);
    expect(owners.data).toHaveLength(4);
    expect(owners.data[0].attributes["given-by"]).toMatchObject([{ kind: "ownership", id: org.ownersTeamId }]);
    const lenient = await api.makeOrganization({ "allow-force-delete-workspaces": true });
    const workspace = await api.makeWorkspace(lenient.name);
    const admins = await api.makeTeam(lenient.name);
    await api.makeTeamWorkspace(workspace.id, admins.id, { access: "admin" });
    expect(targetIds(await listed(lenient.owner, `/teams/${admins.id}/reach`, forcing))).toEqual([workspace.id]);
  });

  it("400: an unknown permission or order, with the known ones", async () => {
    const answer = await org.owner.get(`${path()}?filter[permission]=can-fly&sort=size`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map(({ source }: Json) => source.parameter)).toEqual(["sort", "filter[permission]"]);
    expect(answer.body.errors[1].detail).toContain("can-queue-apply");
    expect(answer.body.errors[1].detail).toContain("can-create-workspace");
  });

  it("what the caller can't see is counted, and never named", async () => {
    const manager = await api.makeHolder(org.name, "manage-membership");
    await api.makeTeamProject(apples!.id, manager.teamId, { access: "read" });
    await api.makeTeamWorkspace(aside!.id, manager.teamId, { access: "read" });
    const body = await listed(manager, path());
    expect(targetIds(body)).toEqual([apples!.id, aside!.id, inApples!.id]);
    expect(body.meta.hidden).toEqual({ projects: 1, workspaces: 1 });
    expect(body.meta.totals).toMatchObject({ projects: { write: 1 }, workspaces: { plan: 1, write: 1, admin: 0 } });
    expect(body.meta.pagination["total-count"]).toBe(3);
    expect(JSON.stringify(body)).not.toContain(inBerries!.id);
    const narrowed = await listed(manager, path(), "&filter[permission]=can-update");
    expect(narrowed.data).toEqual([]);
    expect(narrowed.meta.hidden).toEqual({ projects: 1, workspaces: 1 });
  });
});

// --- random grants

const levels = {
  project: ["read", "write", "maintain", "admin"],
  workspace: ["read", "plan", "write", "admin"],
} as const;
const projectRecord = fc.oneof(
  fc.constantFrom(...levels.project).map((access) => ({ access })),
  fc.record({
    access: fc.constant("custom"),
    "project-access": fc.record({ settings: fc.constantFrom("read", "update", "delete") }),
    "workspace-access": fc.record({
      runs: fc.constantFrom("read", "plan", "apply"),
      create: fc.boolean(),
      delete: fc.boolean(),
      locking: fc.boolean(),
    }),
  }),
);
const workspaceRecord = fc.oneof(
  fc.constantFrom(...levels.workspace).map((access) => ({ access })),
  fc.record({
    access: fc.constant("custom"),
    runs: fc.constantFrom("read", "plan", "apply"),
    variables: fc.constantFrom("none", "read", "write"),
    "workspace-locking": fc.boolean(),
  }),
);
const projectCount = 3;
const workspaceCount = 5;
const organization = fc.record({
  places: fc.array(fc.nat(projectCount - 1), { minLength: workspaceCount, maxLength: workspaceCount }),
  teams: fc.array(
    fc.record({
      organization: fc.option(
        fc.constantFrom(
          "manage-workspaces",
          "read-workspaces",
          "manage-projects",
          "read-projects",
          "manage-membership",
        ),
      ),
      isSecret: fc.boolean(),
      projects: fc.dictionary(fc.constantFrom("0", "1", "2"), projectRecord, { maxKeys: 2 }),
      workspaces: fc.dictionary(fc.constantFrom("0", "1", "2", "3", "4"), workspaceRecord, { maxKeys: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
  people: fc.array(fc.subarray([0, 1, 2]), { minLength: 2, maxLength: 2 }),
  permission: fc.constantFrom(
    "can-update",
    "can-queue-apply",
    "can-destroy",
    "can-lock",
    "can-create-workspace",
    "can-force-delete",
  ),
});
type Drawn = typeof organization extends fc.Arbitrary<infer Value> ? Value : never;

async function built({ places, teams, people }: Drawn) {
  const org = await api.makeOrganization();
  const projects: Json[] = [];
  for (let at = 0; at < projectCount; at += 1) projects.push(await api.makeProject(org.name));
  const workspaces: Json[] = [];
  for (const place of places) workspaces.push(await api.makeWorkspace(org.name, {}, inProject(projects[place].id)));
  const ids: string[] = [];
  for (const { organization: permission, isSecret, ...records } of teams) {
    const team = await api.makeTeam(org.name, {
      visibility: isSecret ? "secret" : "organization",
      ...(permission !== null && { "organization-access": { [permission]: true } }),
    });
    ids.push(team.id);
    for (const [at, record] of Object.entries(records.projects))
      await api.makeTeamProject(projects[Number(at)].id, team.id, record);
    for (const [at, record] of Object.entries(records.workspaces))
      await api.makeTeamWorkspace(workspaces[Number(at)].id, team.id, record);
  }
  const members = [];
  for (const chosen of people)
    members.push(
      await api.makeMember(
        org.name,
        chosen.flatMap((at) => ids[at] ?? []),
      ),
    );
  const all = [
    ...projects.map(({ id }) => ["projects", id] as const),
    ["projects", org.defaultProjectId] as const,
    ...workspaces.map(({ id }) => ["workspaces", id] as const),
  ];
  return { org, ids, members, all };
}

/** The responses to the subject's own requests: each visible target, with the permissions in its document. */
async function tried(caller: Caller, all: readonly (readonly [string, string])[]): Promise<Map<string, Json>> {
  const found = new Map<string, Json>();
  for (const [type, id] of all) {
    const answer = await caller.get(`/${type}/${id}`);
    // A project's document has no permission for reading it, because it is visible.
    const reading = type === "projects" ? { "can-read": true } : {};
    if (answer.status === 200) found.set(id, { ...data(answer).attributes.permissions, ...reading });
  }
  return found;
}

const permissionsByTarget = (body: Json): Map<string, Json> =>
  new Map(body.data.map((item: Json) => [targetIdOf(item), item.attributes.permissions]));
const sumOf = (counts: Json): number => Object.values(counts as Record<string, number>).reduce((sum, n) => sum + n, 0);

describe("for all grants", () => {
  itInGate(
    "reach is what the API really lets them do",
    async () => {
      await fc.assert(
        fc.asyncProperty(organization, async (drawn) => {
          const { org, ids, members, all } = await built(drawn);
          const narrowed = `&filter[permission]=${drawn.permission}`;
          const check = async (path: string, itself: Caller) => {
            const allowed = await tried(itself, all);
            expect(permissionsByTarget(await listed(org.owner, path))).toEqual(allowed);
            expect(permissionsByTarget(await listed(itself, path))).toEqual(allowed);
            const holding = new Map([...allowed].filter(([, can]) => can[drawn.permission] === true));
            const body = await listed(org.owner, path, narrowed);
            expect(permissionsByTarget(body)).toEqual(holding);
            expect(sumOf(body.meta.totals.projects) + sumOf(body.meta.totals.workspaces)).toBe(holding.size);
            for (const level of body.data.map((item: Json) => item.attributes.level))
              expect(["read", "plan", "write", "maintain", "admin", "custom"]).toContain(level);
          };
          for (const id of ids) await check(`/teams/${id}/reach`, await api.makeTeamToken(id));
          for (const member of members) await check(ofUser(org, member.id), member);
          // A caller who manages memberships sees only the part of another's reach that they can read; the rest is counted.
          const manager = await api.makeHolder(org.name, "manage-membership");
          const [first, second] = members;
          const reached = await tried(first!, all);
          for (const reader of [manager, second!]) {
            const answer = await reader.get(`${ofUser(org, first!.id)}&page[size]=100`);
            if (answer.status === 404) continue;
            const readable = await tried(reader, all);
            const shared = [...reached.keys()].filter((id) => readable.has(id));
            expect(new Set(targetIds(answer.body))).toEqual(new Set(shared));
            const { hidden, pagination } = answer.body.meta;
            expect(hidden.projects + hidden.workspaces).toBe(reached.size - shared.length);
            expect(pagination["total-count"]).toBe(shared.length);
          }
        }),
        { numRuns: sampled(deep(6, 200)), seed },
      );
    },
    deep(60_000, 900_000),
  );
});
