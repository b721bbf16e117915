/** Changes of project rows that other resources make. */
import type { Granted } from "../../../access/granted.ts";
import type { Capability } from "../../../access/capability.ts";
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { OrganizationTable } from "../../../database/schema/identity.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import { defaultProjectName, newProject } from "./rules.ts";
import { insertProject } from "./store.ts";

export async function insertDefaultProject(
  tx: Tx,
  by: Capability<"new-organization">,
  organization: OrganizationTable,
): Promise<void> {
  const { id: organizationId, defaultProjectId: id, createdAt } = organization;
  const row = newProject({ name: defaultProjectName }, { id, organizationId, isDefault: 1, createdAt });
  await insertProject(tx, by, row);
}

/** Call it before deleting a team. Locks first, because another transaction could be deleting a record that this one counts. */
export async function decrementTeamCounters(
  tx: Tx,
  { id: teamId }: Granted<{ readonly id: string }, "can-destroy">,
): Promise<void> {
  const ofTeam = tx.db.selectFrom("teamProjects").select("projectId").where("teamId", "=", teamId);
  await tx.db
    .selectFrom("projects as p")
    .select("p.id")
    .where("p.id", "in", ofTeam)
    .orderBy("p.id")
    .modifyEnd(tx.dialect.lockRows("p"))
    .execute();
  await tx.db
    .updateTable("projects")
    .set({ teamCount: sql`team_count - 1`, ...incrementedVersion })
    .where("id", "in", ofTeam)
    .execute();
}

export async function adjustTeamCount(tx: Tx, projectId: string, change: number): Promise<void> {
  await tx.db
    .updateTable("projects")
    .set({ teamCount: sql`team_count + ${change}`, ...incrementedVersion })
    .where("id", "=", projectId)
    .execute();
}

export async function adjustWorkspaceCount(
  tx: Tx,
  _by: Granted<object, "can-create-workspace" | "can-destroy" | "can-force-delete">,
  projectId: string,
  change: 1 | -1,
): Promise<void> {
  await addWorkspaces(tx, { projectId, change });
}

const addWorkspaces = prepared<{ projectId: string; change: number }, object>((db, { projectId, change }) =>
  db
    .updateTable("projects")
    .set({ workspaceCount: sql`workspace_count + cast(${change} as bigint)`, ...incrementedVersion })
    .where("id", "=", projectId),
);

export interface WorkspaceMoveCount {
  readonly from: string;
  readonly to: string;
  readonly count: number;
}

export async function moveWorkspaceCounts(
  tx: Tx,
  _by: Granted<object, "can-move-workspaces" | "can-update">,
  moves: readonly WorkspaceMoveCount[],
): Promise<void> {
  const changes = new Map<string, number>();
  for (const { from, to, count } of moves) {
    changes.set(from, (changes.get(from) ?? 0) - count);
    changes.set(to, (changes.get(to) ?? 0) + count);
  }
  const cases = [...changes].map(([id, change]) => sql`when ${id} then cast(${change} as bigint)`);
  await tx.db
    .updateTable("projects")
    .set({
      workspaceCount: sql`workspace_count + case id ${sql.join(cases, sql` `)} else 0 end`,
      ...incrementedVersion,
    })
    .where(tx.dialect.isOneOf(sql.ref("id"), [...changes.keys()]))
    .execute();
}
