/** What neighbours have done to projects. */
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { OrganizationTable } from "../../database/schema/identity.ts";
import { defaultProjectName, newProject } from "./rules.ts";
import { insertProject } from "./store.ts";

/** Every organization begins with its default project. */
export async function insertDefaultProject(tx: Tx, organization: OrganizationTable): Promise<void> {
  await insertProject(
    tx,
    newProject({
      id: organization.defaultProjectId,
      organizationId: organization.id,
      name: defaultProjectName,
      isDefault: 1,
      createdAt: organization.createdAt,
    }),
  );
}

/** Before a team and its records go: the projects that it had access to have a team less. */
export async function discountTeam(tx: Tx, teamId: string): Promise<void> {
  await tx.db
    .updateTable("projects")
    .set({ teamCount: sql`team_count - 1`, version: sql`version + 1` })
    .where("id", "in", (query) => query.selectFrom("teamProjects").select("projectId").where("teamId", "=", teamId))
    .execute();
}
