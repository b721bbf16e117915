/** SQL of team access to projects. Who changes a record holds its project's row first, so that the project's count is right. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type Access, effective } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { type Standing, standingOf } from "../../../access/organization.ts";
import { projectRightsOf } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { TeamProjectTable } from "../../../database/schema/projects.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { projectGrants, standingColumns } from "../../shared/grants/reads.ts";
import { includesActor } from "../../shared/grants/records.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import type { TeamProjectView } from "./definition.ts";

/** A project as those see it who are about to look at its team access. */
export interface ProjectPlace {
  readonly projectId: string;
  readonly organizationId: string;
  readonly teamCount: number;
  readonly held: Access;
  readonly standing: Standing;
}

interface HeldColumns {
  readonly organizationId: string;
  readonly teamAccess: number | null;
  readonly isMember: number;
  readonly projectAccess: number | null;
}

function heldBy(actor: Actor, row: HeldColumns): { held: Access; standing: Standing } {
  const standing = standingOf(actor, row);
  return { held: effective(standing.everywhere, row.projectAccess), standing };
}

type PlaceRow = HeldColumns & { readonly projectId: string; readonly teamCount: number };
type ById = { id: string; principal: string };

function placesForActor(db: Kysely<Schema>, { id, principal }: ById) {
  return db
    .selectFrom("projects as p")
    .select(["p.id as projectId", "p.organizationId", "p.teamCount"])
    .select(standingColumns(sql.ref("p.organizationId"), principal))
    .select(projectGrants(sql.ref("p.organizationId"), sql.ref("p.id"), principal))
    .where("p.id", "=", id);
}

const place = prepared<ById, PlaceRow>((db, parameters) => placesForActor(db, parameters));
const placeLocked = prepared<ById, PlaceRow>((db, parameters, dialect) =>
  placesForActor(db, parameters).modifyEnd(dialect.lockRows("p")),
);

export async function findPlace(tx: Tx, actor: Actor, id: string, lock = false): Promise<ProjectPlace | undefined> {
  const [row] = await (lock ? placeLocked : place)(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...heldBy(actor, row) };
}

type RecordRow = TeamProjectTable & HeldColumns & Pick<TeamProjectView, "teamVisibility" | "includesActor">;

function recordsForActor(db: Kysely<Schema>, { id, principal }: ById) {
  return db
    .selectFrom("teamProjects as r")
    .innerJoin("projects as p", "p.id", "r.projectId")
    .innerJoin("teams as t", "t.id", "r.teamId")
    .selectAll("r")
    .select("t.visibility as teamVisibility")
    .select(includesActor(sql.ref("r.organizationId"), sql.ref("r.teamId"), principal).as("includesActor"))
    .select(standingColumns(sql.ref("r.organizationId"), principal))
    .select(projectGrants(sql.ref("r.organizationId"), sql.ref("r.projectId"), principal))
    .where("r.id", "=", id);
}

const record = prepared<ById, RecordRow>((db, parameters) => recordsForActor(db, parameters));
const recordLocked = prepared<ById, RecordRow>((db, parameters, dialect) =>
  recordsForActor(db, parameters).modifyEnd(sql`${dialect.lockRows("p")} ${dialect.lockRows("r")}`),
);

/** One statement: the record and all that the caller holds on its project. */
export async function findRecord(tx: Tx, actor: Actor, id: string, lock = false): Promise<TeamProjectView | undefined> {
  const [row] = await (lock ? recordLocked : record)(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...heldBy(actor, row) };
}

/** The records that the caller may see, oldest first. */
export async function listRecords(tx: Tx, actor: Actor, place: Granted<ProjectPlace, "can-read">, page: Page) {
  const { held, standing, organizationId, projectId } = place;
  const seesAll = standing.seesSecretTeams || projectRightsOf(held)["can-read-team-access"];
  const rows = tx.db
    .selectFrom("teamProjects as r")
    .innerJoin("teams as t", "t.id", "r.teamId")
    .selectAll("r")
    .select("t.visibility as teamVisibility")
    .where("r.organizationId", "=", organizationId)
    .where("r.projectId", "=", projectId)
    .where(teamIsVisible(actor, { seesSecretTeams: seesAll }));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "r.createdAt" }, { column: "r.id" }],
    page,
    totals: { totalCount: seesAll ? place.teamCount : countOf(rows.clearSelect().select("r.id")) },
  });
  return {
    views: found.rows.map((row): TeamProjectView => ({ ...row, held, standing, includesActor: 0 })),
    totalCount: found.totals.totalCount,
  };
}

export async function isTeamTaken(
  tx: Tx,
  { organizationId, projectId }: ProjectPlace,
  teamId: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom("teamProjects")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("projectId", "=", projectId)
    .where("teamId", "=", teamId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertRecord(
  tx: Tx,
  _place: Granted<ProjectPlace, "can-manage-team-access">,
  row: TeamProjectTable,
): Promise<void> {
  await tx.db.insertInto("teamProjects").values(row).execute();
}

export async function updateRecord(
  tx: Tx,
  view: Granted<TeamProjectView, "can-manage">,
  changes: Partial<TeamProjectTable>,
): Promise<void> {
  await tx.db
    .updateTable("teamProjects")
    .set({ ...changes, version: view.version + 1 })
    .where("id", "=", view.id)
    .execute();
}

export async function deleteRecord(tx: Tx, view: Granted<TeamProjectView, "can-manage">): Promise<void> {
  await tx.db.deleteFrom("teamProjects").where("id", "=", view.id).execute();
}
