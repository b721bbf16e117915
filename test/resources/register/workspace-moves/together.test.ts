/** Concurrent moves, grants and deletions leave no orphans, no partial moves and no wrong counters. */
import fc from "fast-check";
import { sql } from "kysely";
import { describe, expect, it } from "vitest";
import { type Json, useApi } from "../../../support/api.ts";
import { inProject, onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";
import { deep, seed } from "../../../support/depth.ts";
import { insertWorkspaces } from "../../../support/bulk-rows.ts";

const api = useApi();
/** Deep runs take minutes. */
const patience = deep(120_000, 900_000);
const linkage = (ids: readonly string[]) => ({ data: ids.map((id) => ({ type: "workspaces", id })) });
const into = (project: Json, ids: readonly string[]) => ({
  method: "POST",
  path: `/projects/${project.id}/relationships/workspaces`,
  body: linkage(ids),
});

async function projectsOf(ids: readonly string[]): Promise<string[]> {
  const tx = api.database.reader;
  const rows = await tx.db
    .selectFrom("workspaces")
    .select("projectId")
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .execute();
  return rows.map((row) => row.projectId);
}

/** Wrong counters, and records whose team, project or workspace does not exist or is elsewhere. */
async function wrong(organizationId: string): Promise<unknown[]> {
  const result = await sql`
    select 'workspaces of' as what, id from projects as p where organization_id = ${organizationId}
      and workspace_count <> (select count(*) from workspaces where project_id = p.id)
    union all
    select 'teams of', id from projects as p where organization_id = ${organizationId}
      and team_count <> (select count(*) from team_projects where project_id = p.id)
    union all
    select 'team-project', r.id from team_projects as r
      left join teams as t on t.id = r.team_id left join projects as p on p.id = r.project_id
      where r.organization_id = ${organizationId}
        and (t.id is null or p.id is null or t.organization_id <> r.organization_id or p.organization_id <> r.organization_id)
    union all
    select 'team-workspace', r.id from team_workspaces as r
      left join teams as t on t.id = r.team_id left join workspaces as w on w.id = r.workspace_id
      where r.organization_id = ${organizationId}
        and (t.id is null or w.id is null or t.organization_id <> r.organization_id or w.organization_id <> r.organization_id)
    union all
    select 'workspace', w.id from workspaces as w left join projects as p on p.id = w.project_id
      where w.organization_id = ${organizationId} and (p.id is null or p.organization_id <> w.organization_id)`.execute(
    api.database.reader.db,
  );
  return result.rows;
}

describe("concurrent opposite moves", () => {
  it(
    "never fail, and never split the set",
    async () => {
      const org = await api.makeOrganization();
      const [left, right] = [await api.makeProject(org.name), await api.makeProject(org.name)];
      const ids: string[] = [];
      for (let count = 0; count < 12; count += 1)
        ids.push((await api.makeWorkspace(org.name, {}, inProject(left.id))).id);
      const reversed = ids.toReversed();
      for (let round = 0; round < deep(4, 60); round += 1) {
        const answers = await Promise.all(
          Array.from({ length: 8 }, (_, index) => {
            const { method, path, body } = index % 2 === 0 ? into(left, ids) : into(right, reversed);
            return org.owner.send(method, path, body);
          }),
        );
        expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(204));
        expect(new Set(await projectsOf(ids)).size).toBe(1);
      }
      expect(await wrong(org.id)).toEqual([]);
    },
    patience,
  );

  it("of 1,000 workspaces, too", async () => {
    const org = await api.makeOrganization();
    const [left, right] = [await api.makeProject(org.name), await api.makeProject(org.name)];
    const ids = await insertWorkspaces(api, org, left.id, 1000);
    const requests = [into(right, ids), into(left, ids.toReversed()), into(right, ids)];
    const answers = await Promise.all(requests.map(({ method, path, body }) => org.owner.send(method, path, body)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
    expect(new Set(await projectsOf(ids)).size).toBe(1);
    expect(await wrong(org.id)).toEqual([]);
  });
});

describe("moves of many and of single workspaces, while the projects' durations change", () => {
  it("all succeed, and each workspace uses the duration of its project", async () => {
    const org = await api.makeOrganization();
    const [left, right] = [await api.makeProject(org.name), await api.makeProject(org.name)];
    const ids: string[] = [];
    for (let count = 0; count < 6; count += 1) ids.push((await api.makeWorkspace(org.name, {}, inProject(left.id))).id);
    const change = (project: Json, days: number) =>
      org.owner.patch(
        `/projects/${project.id}`,
        resource("projects", { "auto-destroy-activity-duration": `${days}d` }),
      );
    const moveOne = (project: Json, id: string) =>
      org.owner.patch(`/workspaces/${id}`, resource("workspaces", {}, inProject(project.id)));
    for (let round = 0; round < deep(3, 40); round += 1) {
      const moves = [into(left, ids), into(right, ids.toReversed())].map(({ method, path, body }) =>
        org.owner.send(method, path, body),
      );
      const answers = await Promise.all([
        ...[1, 2, 3].flatMap((days) => [change(left, days + round), change(right, 50 + days + round)]),
        ...moves,
        ...ids.flatMap((id) => [moveOne(left, id), moveOne(right, id)]),
      ]);
      expect(answers.filter(({ status }) => status >= 300)).toEqual([]);
    }
    const durationOf = async (path: string) =>
      (await org.owner.get(path)).body.data.attributes["auto-destroy-activity-duration"];
    for (const id of ids) {
      const { relationships } = (await org.owner.get(`/workspaces/${id}`)).body.data;
      const project = `/projects/${relationships.project.data.id}`;
      expect(await durationOf(`/workspaces/${id}`)).toBe(await durationOf(project));
    }
    expect(await wrong(org.id)).toEqual([]);
  });
});

describe("concurrent grants, moves and deletions", () => {
  interface Scene {
    readonly org: Org;
    readonly teams: readonly string[];
    readonly projects: readonly Json[];
    readonly workspaces: readonly string[];
  }

  async function makeScene(): Promise<Scene> {
    const org = await api.makeOrganization();
    const teams: string[] = [];
    const projects: Json[] = [];
    const workspaces: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      teams.push((await api.makeTeam(org.name)).id);
      projects.push(await api.makeProject(org.name));
    }
    for (let count = 0; count < 4; count += 1)
      workspaces.push((await api.makeWorkspace(org.name, {}, inProject(projects[count % 3].id))).id);
    for (const team of teams) {
      await api.makeTeamProject(projects[0].id, team);
      await api.makeTeamProject(projects[1].id, team);
    }
    return { org, teams, projects, workspaces };
  }

  const step = fc.record({
    kind: fc.constantFrom(
      "grant project",
      "grant workspace",
      "move",
      "delete team",
      "delete project",
      "revoke",
      "delete workspace",
    ),
    team: fc.nat(2),
    project: fc.nat(2),
    workspace: fc.nat(3),
  });
  type Step = { kind: string; team: number; project: number; workspace: number };

  async function take({ org, teams, projects, workspaces }: Scene, { kind, ...at }: Step): Promise<number> {
    const { owner } = org;
    const [team = "", project, workspace = ""] = [teams[at.team], projects[at.project], workspaces[at.workspace]];
    switch (kind) {
      case "grant project":
        return (
          await owner.post(
            "/team-projects",
            resource("team-projects", { access: "write" }, onProject(project.id, team)),
          )
        ).status;
      case "grant workspace":
        return (
          await owner.post(
            "/team-workspaces",
            resource("team-workspaces", { access: "plan" }, onWorkspace(workspace, team)),
          )
        ).status;
      case "move": {
        const { method, path, body } = into(project, [workspace, workspaces[(at.workspace + 1) % 4] ?? ""]);
        return (await owner.send(method, path, body)).status;
      }
      case "delete team":
        return (await owner.delete(`/teams/${team}`)).status;
      case "delete project":
        return (await owner.delete(`/projects/${project.id}`)).status;
      case "delete workspace":
        return (await owner.delete(`/workspaces/${workspace}`)).status;
      default: {
        const records = await owner.get(`/team-projects?filter[project][id]=${project.id}`);
        const record = records.body.data?.[at.team];
        return record === undefined ? 404 : (await owner.delete(`/team-projects/${record.id}`)).status;
      }
    }
  }

  it(
    "leave neither an orphan nor a wrong counter, and never a 5xx",
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (steps) => {
          const scene = await makeScene();
          const statuses = await Promise.all(steps.map((one) => take(scene, one)));
          for (const status of statuses) expect([200, 204, 403, 404, 409, 422]).toContain(status);
          expect(await wrong(scene.org.id)).toEqual([]);
        }),
        { numRuns: deep(6, 200), seed },
      );
    },
    patience,
  );
});
