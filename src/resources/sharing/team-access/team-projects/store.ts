/** Where the records of team access to projects are; a project counts its own. */
import { sql } from "kysely";
import { countTeams } from "../../../register/projects/writes.ts";
import { projectGrants } from "../../../shared/grants/reads.ts";
import type { AccessTables } from "../kind.ts";

export const projectTables: AccessTables = {
  records: "teamProjects",
  places: "projects",
  column: "projectId",
  grants: (principal) => [
    projectGrants(sql.ref("x.organizationId"), sql.ref("x.id"), principal),
    sql<number | null>`cast(null as bigint)`.as("workspaceAccess"),
  ],
  teamCount: sql<number | null>`x.team_count`,
  count: countTeams,
};
