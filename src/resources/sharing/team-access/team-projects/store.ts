/** The tables of team access to projects, which have a counter of records. */
import { sql } from "kysely";
import { adjustTeamCount } from "../../../register/projects/writes.ts";
import { expiredCountOnProject } from "../../../shared/grants/in-force.ts";
import { projectGrants } from "../../../shared/grants/reads.ts";
import type { AccessTables } from "../kind.ts";

export const projectTables: AccessTables = {
  records: "teamProjects",
  targets: "projects",
  column: "projectId",
  grants: (principal, through) => [
    projectGrants(sql.ref("x.organizationId"), sql.ref("x.id"), principal, through),
    sql<number | null>`cast(null as bigint)`.as("workspaceAccess"),
  ],
  teamCount: sql<number | null>`x.team_count - ${expiredCountOnProject(sql.ref("x.id"))}`,
  count: adjustTeamCount,
};
