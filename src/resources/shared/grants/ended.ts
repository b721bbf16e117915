/** The access that ends with a team or a project, for the audit log: its rows are deleted by the database and leave no events of their own. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { type Ending, shownEnding } from "./ending.ts";
import { inForce } from "./in-force.ts";

type Row = Record<"team" | "project" | "workspace" | "access" | "membership" | "username", string | null> & Ending;

const none = sql`cast(null as text)`;
const listed = (name: string, rows: readonly object[]): object => (rows.length === 0 ? {} : { [name]: rows });

/** What a team may do where, and who is in it. */
export async function accessOfTeam(tx: Tx, teamId: string): Promise<object> {
  const { rows } = await sql<Row>`
    select g.project_id as project, ${none} as workspace, g.access as access, ${none} as membership, ${none} as username,
      g.expires_at as expires_at, g.reason as reason
    from team_projects as g where g.team_id = ${teamId} and ${inForce("g")}
    union all select ${none}, g.workspace_id, g.access, ${none}, ${none}, g.expires_at, g.reason
    from team_workspaces as g where g.team_id = ${teamId} and ${inForce("g")}
    union all select ${none}, ${none}, ${none}, m.membership_id, u.username, m.expires_at, m.reason
    from team_members as m left join users u on u.id = m.user_id where m.team_id = ${teamId} and ${inForce("m")}`.execute(
    tx.db,
  );
  const grants = rows.filter(({ membership }) => membership === null);
  const members = rows.filter(({ membership }) => membership !== null);
  return {
    ...listed(
      "grants",
      grants.map(({ project, workspace, access, ...ending }) => ({
        ...(project === null ? { workspace } : { project }),
        access,
        ...shownEnding(ending),
      })),
    ),
    ...listed(
      "members",
      members.map(({ membership, username, ...ending }) => ({ membership, username, ...shownEnding(ending) })),
    ),
  };
}

/** Which teams have access to a project. */
export async function accessToProject(tx: Tx, projectId: string): Promise<object> {
  const { rows } =
    await sql<Row>`select g.team_id as team, g.access as access, g.expires_at as expires_at, g.reason as reason
    from team_projects as g where g.project_id = ${projectId} and ${inForce("g")}`.execute(tx.db);
  return listed(
    "grants",
    rows.map(({ team, access, ...ending }) => ({ team, access, ...shownEnding(ending) })),
  );
}
