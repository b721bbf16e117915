/** SQL of projects: loads them with the caller's access, and changes their own rows. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { fold } from "../../../kernel/text.ts";
import { expiredCountOnProject } from "../../shared/grants/in-force.ts";
import { projectGrants, standingColumns, type StandingInput } from "../../shared/grants/reads.ts";
import {
  factsColumns,
  type OrganizationFacts,
  type OrganizationView,
} from "../../identity/organizations/definition.ts";
import { lockClause, type RowLock, lockableStatement } from "../../shared/locks.ts";
import { executionDefaultColumns, incrementedWhenChanged, updateRow } from "../../shared/versions.ts";
import type { ProjectView } from "./definition.ts";
import type { OrganizationDefaults } from "./execution.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export interface ProjectViewRow extends ProjectTable, OrganizationDefaults, OrganizationFacts, StandingInput {
  readonly projectAccess: number | null;
  readonly expiredTeamAccessCount: number;
}

export function projectsForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("projects as p")
    .innerJoin("organizations as o", openWithId("p.organizationId"))
    .selectAll("p")
    .select([
      ...factsColumns,
      "o.defaultExecutionMode as organizationExecutionMode",
      "o.defaultAgentPoolId as organizationAgentPoolId",
      "o.defaultsVersion as organizationDefaultsVersion",
    ])
    .select(standingColumns(sql.ref("p.organizationId"), principal))
    .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
    .select(expiredCountOnProject(sql.ref("p.id")).as("expiredTeamAccessCount"));
}

const byId = lockableStatement<{ id: string; principal: string }, ProjectViewRow>("p", (db, { id, principal }) =>
  projectsForActor(db, principal).where("p.id", "=", id),
);

export async function findProject(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: RowLock = false,
): Promise<ProjectView | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) }, lock);
  return row && toProjectView(actor, row);
}

export function toProjectView<Row extends ProjectViewRow>(actor: Actor, row: Row): Row & ProjectView {
  return { ...row, access: effectiveAccess(checkedStandingOf(actor, row).organizationWideMask, row.projectAccess) };
}

/** In the order of ids. With `lockIn`, locks the rows and returns only those of that organization. */
export async function findProjects(
  tx: Tx,
  actor: Actor,
  ids: readonly string[],
  lockIn?: { readonly organizationId: string },
): Promise<ProjectView[]> {
  const byIds = projectsForActor(tx.db, principalOf(actor)).where(tx.dialect.isOneOf(sql.ref("p.id"), ids));
  const within = lockIn === undefined ? byIds : byIds.where("p.organizationId", "=", lockIn.organizationId);
  const rows = await within
    .orderBy("p.id")
    .modifyEnd(lockClause(tx.dialect, "p", lockIn !== undefined && "change"))
    .execute();
  return rows.map((row) => toProjectView(actor, row));
}

/** Locks the pool's row, so that a pool that is being deleted can't become a default. */
export async function hasAgentPool(tx: Tx, organizationId: string, id: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("agentPools as a")
    .select("a.id")
    .where("a.organizationId", "=", organizationId)
    .where("a.id", "=", id)
    .modifyEnd(tx.dialect.lockRows("a", "reference"))
    .executeTakeFirst();
  return row !== undefined;
}

export async function isProjectNameTaken(tx: Tx, organizationId: string, name: string): Promise<boolean> {
  const row = await tx.db
    .selectFrom("projects")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("nameKey", "=", fold(name))
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertProject(
  tx: Tx,
  _into: Granted<OrganizationView, "can-create-project"> | Capability<"new-organization">,
  row: ProjectTable,
): Promise<void> {
  await tx.db.insertInto("projects").values(row).execute();
}

/** A change of defaults raises their version, because documents of workspaces show them. */
export async function updateProjectRow(
  tx: Tx,
  project: Granted<ProjectView, "can-update">,
  changes: Partial<ProjectTable>,
): Promise<void> {
  await updateRow(tx, "projects", project.id, {
    ...changes,
    ...incrementedWhenChanged(changes, "defaultsVersion", executionDefaultColumns),
  });
}

export async function deleteProjectRow(tx: Tx, project: Granted<ProjectView, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("projects").where("id", "=", project.id).execute();
}
