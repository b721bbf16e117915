/** Permission masks from before variable-sets and policy-overrides: the migration adds what each level implies. */
import { CompiledQuery } from "kysely";
import { expect, it } from "vitest";
import { ownersAccess } from "../../src/access/organization.ts";
import {
  projectLevelMask,
  projectLevelNames,
  workspaceLevelMask,
  workspaceLevelNames,
} from "../../src/access/levels.ts";
import { projects } from "../../src/database/migrations/0005-projects.ts";
import { useApi } from "../support/api.ts";

const api = useApi();
const before = 2 ** 20 - 1;

it("adds the new bits to levels and owners, but not to custom permissions", async () => {
  const org = await api.makeOrganization();
  const [project, workspace] = [await api.makeProject(org.name), await api.makeWorkspace(org.name)];
  for (const access of projectLevelNames)
    await api.makeTeamProject(project.id, (await api.makeTeam(org.name)).id, { access });
  for (const access of workspaceLevelNames)
    await api.makeTeamWorkspace(workspace.id, (await api.makeTeam(org.name)).id, { access });
  const stored = async () => {
    const { db } = api.database.reader;
    const columns = ["access", "permissions", "version"] as const;
    return {
      onProject: await db.selectFrom("teamProjects").select(columns).orderBy("createdAt").orderBy("id").execute(),
      onWorkspace: await db.selectFrom("teamWorkspaces").select(columns).orderBy("createdAt").orderBy("id").execute(),
      teams: await db.selectFrom("teams").select(["isOwners", "organizationAccess"]).orderBy("id").execute(),
    };
  };
  await api.database.write(async (tx) => {
    const run = (statement: string) => tx.db.executeQuery(CompiledQuery.raw(statement));
    await run(`UPDATE team_projects SET permissions = permissions & ${before}`);
    await run(`UPDATE team_workspaces SET permissions = permissions & ${before}`);
    await run("UPDATE teams SET organization_access = organization_access & 65535");
    for (const statement of projects.statements.filter((text) => text.startsWith("UPDATE"))) await run(statement);
  });
  const { onProject, onWorkspace, teams } = await stored();
  for (const { access, permissions, version } of onProject) {
    expect(permissions, access).toBe(projectLevelMask(access as never));
    expect(version, access).toBe(access === "custom" ? 1 : 2);
  }
  for (const { access, permissions, version } of onWorkspace) {
    expect(permissions, access).toBe(workspaceLevelMask(access as never));
    expect(version, access).toBe(access === "admin" ? 2 : 1);
  }
  for (const { isOwners, organizationAccess } of teams)
    expect(organizationAccess).toBe(isOwners === 1 ? ownersAccess : 0);
});
