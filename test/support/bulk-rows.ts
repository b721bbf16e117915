/** Inserts many rows directly, for tests about size. */
import { organizationMaskOf } from "../../src/access/organization.ts";
import { projectLevelMask, workspaceLevelMask } from "../../src/access/levels.ts";
import { newId } from "../../src/kernel/ids.ts";
import { now } from "../../src/kernel/time.ts";
import type { Api } from "./api.ts";
import { type Org, makeWorkspace, inProject, unique } from "./builders.ts";

const chunk = 200;

function* chunks<Row>(rows: readonly Row[]): Generator<Row[]> {
  for (let start = 0; start < rows.length; start += chunk) yield rows.slice(start, start + chunk);
}

export async function insertWorkspaces(api: Api, org: Org, projectId: string, count: number): Promise<string[]> {
  const model = await makeWorkspace(api, org.name, {}, inProject(projectId));
  const row = await api.database.reader.db
    .selectFrom("workspaces")
    .selectAll()
    .where("id", "=", model.id)
    .executeTakeFirstOrThrow();
  const copies = Array.from({ length: count - 1 }, () => {
    const name = unique("copy");
    return { ...row, id: newId("workspaces"), name, nameKey: name };
  });
  await api.database.write(async (tx) => {
    for (const rows of chunks(copies)) await tx.db.insertInto("workspaces").values(rows).execute();
    await tx.db
      .updateTable("projects")
      .set((set) => ({ workspaceCount: set("workspaceCount", "+", count - 1) }))
      .where("id", "=", projectId)
      .execute();
  });
  return [model.id, ...copies.map(({ id }) => id)];
}

export interface TeamTargets {
  readonly projectId: string;
  readonly workspaceId: string;
  readonly member?: { readonly id: string; readonly membershipId: string };
}

export async function insertTeams(api: Api, org: Org, count: number, targets: TeamTargets): Promise<string[]> {
  const createdAt = now();
  const teams = Array.from({ length: count }, () => {
    const name = unique("crowd");
    return {
      id: newId("teams"),
      organizationId: org.id,
      name,
      nameKey: name,
      isOwners: 0,
      visibility: "organization",
      ssoTeamId: null,
      allowMemberTokenManagement: 1,
      organizationAccess: organizationMaskOf({ "read-projects": true }),
      usersCount: targets.member === undefined ? 0 : 1,
      createdAt,
      version: 1,
    };
  });
  const record = (type: "team-projects" | "team-workspaces", teamId: string) => ({
    id: newId(type),
    organizationId: org.id,
    teamId,
    createdAt,
    version: 1,
  });
  const { member } = targets;
  await api.database.write(async (tx) => {
    for (const rows of chunks(teams)) {
      await tx.db.insertInto("teams").values(rows).execute();
      await tx.db
        .insertInto("teamProjects")
        .values(
          rows.map(({ id }) => ({
            ...record("team-projects", id),
            projectId: targets.projectId,
            access: "write",
            permissions: projectLevelMask("write"),
          })),
        )
        .execute();
      await tx.db
        .insertInto("teamWorkspaces")
        .values(
          rows.map(({ id }) => ({
            ...record("team-workspaces", id),
            workspaceId: targets.workspaceId,
            access: "admin",
            permissions: workspaceLevelMask("admin"),
          })),
        )
        .execute();
      if (member === undefined) continue;
      const { id: userId, membershipId } = member;
      await tx.db
        .insertInto("teamMembers")
        .values(rows.map(({ id }) => ({ organizationId: org.id, teamId: id, membershipId, userId, createdAt })))
        .execute();
    }
    await tx.db
      .updateTable("projects")
      .set((set) => ({ teamCount: set("teamCount", "+", count) }))
      .where("id", "=", targets.projectId)
      .execute();
  });
  return teams.map(({ id }) => id);
}
