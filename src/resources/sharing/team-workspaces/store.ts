/** SQL of team access to workspaces. Who changes a record holds its workspace's row first. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { type Access, effective } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { type Standing, standingOf } from "../../../access/organization.ts";
import { workspaceRightsOf } from "../../../access/permissions.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { TeamWorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { projectGrants, standingColumns, workspaceGrants } from "../../shared/grants/reads.ts";
import { includesActor } from "../../shared/grants/records.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import type { TeamWorkspaceView } from "./definition.ts";

/** A workspace as those see it who are about to look at its team access. */
export interface WorkspacePlace {
  readonly workspaceId: string;
  readonly organizationId: string;
  readonly held: Access;
  readonly standing: Standing;
}

interface HeldColumns {
  readonly organizationId: string;
  readonly teamAccess: number | null;
  readonly isMember: number;
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

function heldBy(actor: Actor, row: HeldColumns): { held: Access; standing: Standing } {
  const standing = standingOf(actor, row);
  return { held: effective(standing.everywhere, row.projectAccess, row.workspaceAccess), standing };
}

type PlaceRow = HeldColumns & { readonly workspaceId: string };
type ById = { id: string; principal: string };

function placesForActor(db: Kysely<Schema>, { id, principal }: ById) {
  return db
    .selectFrom("workspaces as w")
    .select(["w.id as workspaceId", "w.organizationId"])
    .select(standingColumns(sql.ref("w.organizationId"), principal))
    .select(projectGrants(sql.ref("w.organizationId"), sql.ref("w.projectId"), principal))
    .select(workspaceGrants(sql.ref("w.organizationId"), sql.ref("w.id"), principal))
    .where("w.id", "=", id);
}

const place = prepared<ById, PlaceRow>((db, parameters) => placesForActor(db, parameters));
const placeLocked = prepared<ById, PlaceRow>((db, parameters, dialect) =>
  placesForActor(db, parameters).modifyEnd(dialect.lockRows("w")),
);

export async function findPlace(tx: Tx, actor: Actor, id: string, lock = false): Promise<WorkspacePlace | undefined> {
  const [row] = await (lock ? placeLocked : place)(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...heldBy(actor, row) };
}

type RecordRow = TeamWorkspaceTable & HeldColumns & Pick<TeamWorkspaceView, "teamVisibility" | "includesActor">;

function recordsForActor(db: Kysely<Schema>, { id, principal }: ById) {
  return db
    .selectFrom("teamWorkspaces as r")
    .innerJoin("workspaces as w", "w.id", "r.workspaceId")
    .innerJoin("teams as t", "t.id", "r.teamId")
    .selectAll("r")
    .select("t.visibility as teamVisibility")
    .select(includesActor(sql.ref("r.organizationId"), sql.ref("r.teamId"), principal).as("includesActor"))
    .select(standingColumns(sql.ref("r.organizationId"), principal))
    .select(projectGrants(sql.ref("r.organizationId"), sql.ref("w.projectId"), principal))
    .select(workspaceGrants(sql.ref("r.organizationId"), sql.ref("r.workspaceId"), principal))
    .where("r.id", "=", id);
}

const record = prepared<ById, RecordRow>((db, parameters) => recordsForActor(db, parameters));
const recordLocked = prepared<ById, RecordRow>((db, parameters, dialect) =>
  recordsForActor(db, parameters).modifyEnd(sql`${dialect.lockRows("w")} ${dialect.lockRows("r")}`),
);

/** One statement: the record and all that the caller holds on its workspace. */
export async function findRecord(
  tx: Tx,
  actor: Actor,
  id: string,
  lock = false,
): Promise<TeamWorkspaceView | undefined> {
  const [row] = await (lock ? recordLocked : record)(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...heldBy(actor, row) };
}

/** The records that the caller may see, oldest first: a page with the total, or all of them. */
export async function listRecords(
  tx: Tx,
  actor: Actor,
  place: Granted<WorkspacePlace, "can-read">,
  page: Page | undefined,
): Promise<{ views: TeamWorkspaceView[]; totalCount?: number }> {
  const { held, standing, organizationId, workspaceId } = place;
  const seesSecretTeams = standing.seesSecretTeams || workspaceRightsOf(held)["can-read-team-access"];
  const rows = tx.db
    .selectFrom("teamWorkspaces as r")
    .innerJoin("teams as t", "t.id", "r.teamId")
    .selectAll("r")
    .select("t.visibility as teamVisibility")
    .where("r.organizationId", "=", organizationId)
    .where("r.workspaceId", "=", workspaceId)
    .where(teamIsVisible(actor, { seesSecretTeams }));
  const toView = (row: TeamWorkspaceTable & { teamVisibility: string }) => ({
    ...row,
    held,
    standing,
    includesActor: 0,
  });
  if (page === undefined) {
    const all = await rows.orderBy("r.createdAt").orderBy("r.id").execute();
    return { views: all.map(toView) };
  }
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "r.createdAt" }, { column: "r.id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("r.id")) },
  });
  return { views: found.rows.map(toView), totalCount: found.totals.totalCount };
}

export async function isTeamTaken(
  tx: Tx,
  { organizationId, workspaceId }: WorkspacePlace,
  teamId: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom("teamWorkspaces")
    .select("id")
    .where("organizationId", "=", organizationId)
    .where("workspaceId", "=", workspaceId)
    .where("teamId", "=", teamId)
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertRecord(
  tx: Tx,
  _place: Granted<WorkspacePlace, "can-manage-team-access">,
  row: TeamWorkspaceTable,
): Promise<void> {
  await tx.db.insertInto("teamWorkspaces").values(row).execute();
}

export async function updateRecord(
  tx: Tx,
  view: Granted<TeamWorkspaceView, "can-manage">,
  changes: Partial<TeamWorkspaceTable>,
): Promise<void> {
  await tx.db
    .updateTable("teamWorkspaces")
    .set({ ...changes, version: view.version + 1 })
    .where("id", "=", view.id)
    .execute();
}

export async function deleteRecord(tx: Tx, view: Granted<TeamWorkspaceView, "can-manage">): Promise<void> {
  await tx.db.deleteFrom("teamWorkspaces").where("id", "=", view.id).execute();
}
