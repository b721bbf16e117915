/** The tables of team access to workspaces. */
import { sql } from "kysely";
import { projectGrants, workspaceGrants } from "../../../shared/grants/reads.ts";
import type { AccessTables } from "../kind.ts";

export const workspaceTables: AccessTables = {
  records: "teamWorkspaces",
  targets: "workspaces",
  column: "workspaceId",
  grants: (principal, through) => [
    projectGrants(sql.ref("x.organizationId"), sql.ref("x.projectId"), principal, through),
    workspaceGrants(sql.ref("x.organizationId"), sql.ref("x.id"), principal, through),
  ],
  teamCount: sql<number | null>`cast(null as bigint)`,
};
