/** SQL of projects. */
import { type Kysely, type RawBuilder, type SqlBool, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effective } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { standingOf } from "../../../access/organization.ts";
import { bitOf, holds, type Mask } from "../../../access/permission-set.ts";
import type { Tx } from "../../../database/database.ts";
import type { ProjectTable } from "../../../database/schema/projects.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page, Sort } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { endedOnProject } from "../../shared/grants/in-force.ts";
import { hasProjectGrant, projectGrants, standingColumns, type StandingFacts } from "../../shared/grants/reads.ts";
import {
  factsColumns,
  type OrganizationFacts,
  type OrganizationView,
} from "../../identity/organizations/definition.ts";
import { held, type Lock, lockable } from "../../shared/locks.ts";
import { countOf, fetchPage, type Order } from "../../shared/paging.ts";
import { defaults, raisedBy, updateRow } from "../../shared/versions.ts";
import type { ProjectView } from "./definition.ts";
import type { OrganizationDefaults } from "./execution.ts";
import { defaultsOf } from "./rules.ts";

interface ProjectRow extends ProjectTable, OrganizationDefaults, OrganizationFacts, StandingFacts {
  readonly projectAccess: number | null;
  readonly endedRecords: number;
}

function projectsForActor(db: Kysely<Schema>, principal: string) {
  return db
    .selectFrom("projects as p")
    .innerJoin("organizations as o", "o.id", "p.organizationId")
    .selectAll("p")
    .select([
      ...factsColumns,
      "o.defaultExecutionMode as organizationExecutionMode",
      "o.defaultAgentPoolId as organizationAgentPoolId",
      "o.defaultsVersion as organizationDefaults",
    ])
    .select(standingColumns(sql.ref("p.organizationId"), principal))
    .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
    .select(endedOnProject(sql.ref("p.id")).as("endedRecords"));
}

const byId = lockable<{ id: string; principal: string }, ProjectRow>("p", (db, { id, principal }) =>
  projectsForActor(db, principal).where("p.id", "=", id),
);

/** One statement: the project and all that the caller holds on it. `lock` keeps others from changing it meanwhile. */
export async function findProject(
  tx: Tx,
  actor: Actor,
  id: string,
  lock: Lock = false,
): Promise<ProjectView | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) }, lock);
  return row && toProjectView(actor, row);
}

function toProjectView(actor: Actor, row: ProjectRow): ProjectView {
  return { ...row, access: effective(standingOf(actor, row).everywhere, row.projectAccess) };
}

/** Projects of one organization with all that the caller holds on them, in the order of their ids. */
export async function findProjects(
  tx: Tx,
  actor: Actor,
  organizationId: string,
  ids: readonly string[],
  lock = false,
): Promise<ProjectView[]> {
  const rows = await projectsForActor(tx.db, principalOf(actor))
    .where("p.organizationId", "=", organizationId)
    .where(tx.dialect.isOneOf(sql.ref("p.id"), ids))
    .orderBy("p.id")
    .modifyEnd(held(tx.dialect, "p", lock))
    .execute();
  return rows.map((row) => toProjectView(actor, row));
}

interface Tagged {
  readonly key?: string;
  readonly value?: string;
}

export interface ProjectSearch {
  readonly page: Page;
  readonly sort: Sort<"name"> | undefined;
  readonly part: string | undefined;
  readonly names: readonly string[] | undefined;
  readonly tagged: readonly Tagged[];
  /** Each must be held on a listed project. */
  readonly bits: readonly Mask[];
}

const newestFirst: readonly Order[] = [
  { column: "createdAt", descending: true },
  { column: "id", descending: true },
];

/** What the caller may read of an organization's projects, in one statement with its totals. */
export async function listProjectRows(tx: Tx, actor: Actor, organization: OrganizationView, search: ProjectSearch) {
  const principal = principalOf(actor);
  const everywhere = organization.standing.everywhere;
  const readable = projectsOf(tx.db, organization, principal, [bitOf("settings", "read")]);
  const filtered = narrowed(
    tx,
    organization.id,
    projectsOf(tx.db, organization, principal, [bitOf("settings", "read"), ...search.bits]),
    search,
  );
  const readsAll = holds(everywhere, "settings", "read");
  const total = readsAll ? organization.projectCount : countOf(readable.select("p.id"));
  const unfiltered =
    search.part === undefined &&
    search.names === undefined &&
    search.tagged.length === 0 &&
    search.bits.every((bit) => (everywhere & bit) === bit);
  const found = await fetchPage(tx, {
    rows: filtered
      .selectAll("p")
      .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
      .select(endedOnProject(sql.ref("p.id")).as("endedRecords")),
    order:
      search.sort === undefined
        ? newestFirst
        : [{ column: "name", descending: search.sort.descending }, { column: "id" }],
    page: search.page,
    totals: { total, matching: unfiltered ? total : countOf(filtered.select("p.id")) },
  });
  return {
    views: found.rows.map((row): ProjectView => ({
      ...row,
      ...defaultsOf(organization),
      access: effective(everywhere, row.projectAccess),
    })),
    totals: found.totals,
  };
}

/** The projects on which the caller holds every bit: by the organization, or by a record of one of its teams. */
function projectsOf(db: Kysely<Schema>, organization: OrganizationView, principal: string, bits: readonly Mask[]) {
  let query = db.selectFrom("projects as p").where("p.organizationId", "=", organization.id);
  for (const bit of bits) {
    if ((organization.standing.everywhere & bit) === bit) continue;
    query = query.where(hasProjectGrant(sql`${organization.id}`, sql.ref("p.id"), principal, bit));
  }
  return query;
}

function narrowed(
  tx: Tx,
  organizationId: string,
  query: ReturnType<typeof projectsOf>,
  { names, part, tagged }: ProjectSearch,
) {
  const bound = tagged.reduce((found, filter) => found.where(isTagged(organizationId, filter)), query);
  if (names !== undefined) return bound.where(tx.dialect.isOneOf(sql.ref("p.nameKey"), names.map(fold)));
  if (part !== undefined) return bound.where(tx.dialect.contains(sql.ref("p.nameKey"), fold(part)));
  return bound;
}

/** By a key-value tag; what is absent or empty stands for any. */
function isTagged(organizationId: string, { key, value }: Tagged): RawBuilder<SqlBool> {
  const fits = [
    sql`b.organization_id = ${organizationId} and b.project_id is not null`,
    ...(key ? [sql`b.key = ${key}`] : []),
    ...(value ? [sql`b.value = ${value}`] : []),
  ];
  return sql<SqlBool>`p.id in (select b.project_id from tag_bindings as b where ${sql.join(fits, sql` and `)})`;
}

/** Whether the organization has the pool. Holds its row: a pool that is being deleted can't become a default. */
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
  _into: Granted<OrganizationView, "can-create-project"> | "a new organization",
  row: ProjectTable,
): Promise<void> {
  await tx.db.insertInto("projects").values(row).execute();
}

/** Its workspaces show the defaults that they follow. */
export async function updateProjectRow(
  tx: Tx,
  project: Granted<ProjectView, "can-update">,
  changes: Partial<ProjectTable>,
): Promise<void> {
  await updateRow(tx, "projects", project.id, {
    ...changes,
    ...raisedBy(changes, "defaultsVersion", defaults),
  });
}

export async function deleteProjectRow(tx: Tx, project: Granted<ProjectView, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("projects").where("id", "=", project.id).execute();
}
