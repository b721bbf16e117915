/** Records of both kinds change concurrently with their teams and targets: the lock order holds, and the counters stay correct. */
import { sql } from "kysely";
import { beforeAll, describe, expect, it } from "vitest";
import { type Answer, type Json, useApi } from "../../../support/api.ts";
import { data, inProject, onProject, onWorkspace, type Org, resource } from "../../../support/builders.ts";

const api = useApi();
let org: Org;
beforeAll(async () => {
  org = await api.makeOrganization();
});

const give = (projectId: string, workspaceId: string, teamId: string): Promise<Answer>[] => [
  org.owner.post("/team-projects", resource("team-projects", { access: "read" }, onProject(projectId, teamId))),
  org.owner.post("/team-workspaces", resource("team-workspaces", { access: "read" }, onWorkspace(workspaceId, teamId))),
];
const statuses = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))].sort();
const deadlocks = async (): Promise<number> => {
  if (api.database.dialect.name !== "postgres") return 0;
  const found = await sql<{ deadlocks: number }>`
    select deadlocks from pg_stat_database where datname = current_database()`.execute(api.database.reader.db);
  return Number(found.rows[0]?.deadlocks ?? 0);
};

describe("a team that is deleted while it is given access", () => {
  it("gets it and loses it, or is not found; there is no deadlock, and the project's counter is correct", async () => {
    const before = await deadlocks();
    for (let round = 0; round < 2; round += 1) {
      const project = await api.makeProject(org.name);
      const workspaces: Json[] = await Promise.all(
        [1, 2, 3].map(() => api.makeWorkspace(org.name, {}, inProject(project.id))),
      );
      const teams: Json[] = await Promise.all([1, 2, 3, 4].map(() => api.makeTeam(org.name)));
      const given = teams.flatMap(({ id }) => workspaces.flatMap((workspace) => give(project.id, workspace.id, id)));
      const deleted = teams.slice(0, 2).map(({ id }) => org.owner.delete(`/teams/${id}`));
      expect(statuses(await Promise.all(deleted))).toEqual([204]);
      expect([200, 404, 422]).toEqual(expect.arrayContaining(statuses(await Promise.all(given))));
      const shown = data(await org.owner.get(`/projects/${project.id}`));
      expect(shown.attributes["team-count"]).toBe(2);
      const listed = await org.owner.get(`/team-projects?filter[project][id]=${project.id}`);
      expect(listed.body.data.map((record: Json) => record.relationships.team.data.id).toSorted()).toEqual(
        teams
          .slice(2)
          .map(({ id }) => id)
          .toSorted(),
      );
      for (const { id } of workspaces)
        expect(data(await org.owner.get(`/team-workspaces?filter[workspace][id]=${id}`))).toHaveLength(2);
    }
    expect(await deadlocks()).toBe(before);
  });
});
