/** SQL of team access. Writes lock the team (to create a record), then the target, then the record: deleting a team can't deadlock. */
import { type Kysely, sql } from "kysely";
import { type Actor, principalOf } from "../../../access/actor.ts";
import { effectiveAccess } from "../../../access/effective.ts";
import type { Granted } from "../../../access/granted.ts";
import { checkedStandingOf, type StandingRow } from "../../../access/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { teamIsVisible } from "../../identity/teams/visibility.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import { actorTeams, standingColumns } from "../../shared/grants/reads.ts";
import type { GrantOrigin } from "../../shared/grants/origin.ts";
import { lockClause, lockableStatement } from "../../shared/locks.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import type {
  AccessKind,
  AccessRecord,
  AccessRow,
  AccessStatements,
  AccessTables,
  AccessTerms,
  GrantTarget,
} from "./kind.ts";
import { openWithId } from "../../shared/open-organizations.ts";

interface CallerAccessColumns extends StandingRow {
  readonly projectAccess: number | null;
  readonly workspaceAccess: number | null;
}

function callerAccessOf(actor: Actor, row: CallerAccessColumns): Pick<GrantTarget, "callerAccess" | "standing"> {
  const standing = checkedStandingOf(actor, row);
  return {
    callerAccess: effectiveAccess(standing.organizationWideMask, row.projectAccess, row.workspaceAccess),
    standing,
  };
}

type GrantTargetRow = CallerAccessColumns & Pick<GrantTarget, "targetId" | "teamCount" | "enabledRuleCount">;
type AccessRecordRow = CallerAccessColumns & AccessRow & Pick<AccessRecord, "teamVisibility" | "includesActor">;
type TeamAccessKey = { id: string; principal: string };

const tableOf = ({ records }: AccessTables) => records as "teamProjects";
const columnOf = ({ column }: AccessTables) => column as "projectId";

function targetsForActor(
  db: Kysely<Schema>,
  { targets, grants, teamCount }: AccessTables,
  { id, principal }: TeamAccessKey,
) {
  return db
    .selectFrom(`${targets as "projects"} as x`)
    .innerJoin("organizations as o", openWithId("x.organizationId"))
    .select(["x.id as targetId", "x.organizationId", "o.enabledRuleCount"])
    .select(teamCount.as("teamCount"))
    .select(standingColumns(sql.ref("x.organizationId"), principal))
    .select(grants(principal))
    .where("x.id", "=", id);
}

const recordColumns = [
  "r.id",
  "r.organizationId",
  "r.teamId",
  "r.access",
  "r.permissions",
  "r.expiresAt",
  "r.reason",
  "r.createdAt",
  "r.version",
] as const;

function records(db: Kysely<Schema>, tables: AccessTables) {
  return db
    .selectFrom(`${tableOf(tables)} as r`)
    .innerJoin("teams as t", "t.id", "r.teamId")
    .select(recordColumns)
    .select([`r.${columnOf(tables)} as targetId`, "t.visibility as teamVisibility"])
    .where(inForce("r"));
}

function recordsForActor(db: Kysely<Schema>, tables: AccessTables, { id, principal }: TeamAccessKey) {
  const organizationId = sql.ref<string>("r.organizationId");
  const isOwn = sql<number>`case when ${sql.ref("r.teamId")} in ${actorTeams(organizationId, principal)} then 1 else 0 end`;
  return records(db, tables)
    .innerJoin(`${tables.targets as "projects"} as x`, "x.id", `r.${columnOf(tables)}`)
    .innerJoin("organizations as o", openWithId("r.organizationId"))
    .select("o.enabledRuleCount")
    .select(isOwn.as("includesActor"))
    .select(standingColumns(organizationId, principal))
    .select(tables.grants(principal))
    .where("r.id", "=", id);
}

export function statementsOf(tables: AccessTables): AccessStatements {
  const target = lockableStatement<TeamAccessKey, GrantTargetRow>("x", (db, parameters) =>
    targetsForActor(db, tables, parameters),
  );
  const record = prepared<TeamAccessKey, AccessRecordRow>((db, parameters) => recordsForActor(db, tables, parameters));
  const recordLocked = prepared<TeamAccessKey, AccessRecordRow>((db, parameters, dialect) =>
    recordsForActor(db, tables, parameters).modifyEnd(
      sql`${lockClause(dialect, "x", "change")} ${dialect.lockRows("r")}`,
    ),
  );
  const callerAccess = prepared<TeamAccessKey & { through: string }, CallerAccessColumns>(
    (db, { id, principal, through }) =>
      db
        .selectFrom(`${tables.targets as "projects"} as x`)
        .select("x.organizationId")
        .select(standingColumns(sql.ref("x.organizationId"), principal, sql<string>`${through}`))
        .select(tables.grants(principal, sql<string>`${through}`))
        .where("x.id", "=", id),
  );
  return {
    callerAccess: async (tx, actor, id, through) => {
      const [row] = await callerAccess(tx, { id, principal: principalOf(actor), through });
      if (row === undefined) throw new Error("a locked target was deleted");
      return callerAccessOf(actor, row);
    },
    target: async (tx, actor, id, lock) => {
      const [row] = await target(tx, { id, principal: principalOf(actor) }, lock);
      return row && { ...row, ...callerAccessOf(actor, row) };
    },
    record: async (tx, actor, id, lock) => {
      const [row] = await (lock ? recordLocked : record)(tx, { id, principal: principalOf(actor) });
      return row && { ...row, ...callerAccessOf(actor, row) };
    },
  };
}

export async function listRecords(
  tx: Tx,
  actor: Actor,
  { tables, rights }: AccessKind,
  target: Granted<GrantTarget, "can-read">,
  page: Page | undefined,
): Promise<{ views: AccessRecord[]; totalCount?: number }> {
  const { callerAccess, standing, organizationId, targetId, teamCount } = target;
  const seesSecretTeams = standing.seesSecretTeams || rights(callerAccess)["can-read-team-access"];
  const rows = records(tx.db, tables)
    .where("r.organizationId", "=", organizationId)
    .where(`r.${columnOf(tables)}`, "=", targetId)
    .where(teamIsVisible(actor, { seesSecretTeams }));
  const toView = (row: Omit<AccessRecord, "callerAccess" | "standing" | "includesActor">): AccessRecord => ({
    ...row,
    callerAccess,
    standing,
    includesActor: 0,
  });
  if (page === undefined) {
    const all = await rows.orderBy("r.createdAt").orderBy("r.id").execute();
    return { views: all.map(toView) };
  }
  const counted = countOf(rows.clearSelect().select("r.id"));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "r.createdAt" }, { column: "r.id" }],
    page,
    totals: { totalCount: seesSecretTeams ? (teamCount ?? counted) : counted },
  });
  return { views: found.rows.map(toView), totalCount: found.totals.totalCount };
}

/** Also if it has expired and was not removed yet. */
export async function findRecordOf(
  tx: Tx,
  tables: AccessTables,
  { organizationId, targetId }: GrantTarget,
  teamId: string,
): Promise<(AccessRow & { readonly isInForce: number }) | undefined> {
  return tx.db
    .selectFrom(`${tableOf(tables)} as r`)
    .select(recordColumns)
    .select(`r.${columnOf(tables)} as targetId`)
    .select(sql<number>`case when ${inForce("r")} then 1 else 0 end`.as("isInForce"))
    .where("r.organizationId", "=", organizationId)
    .where(`r.${columnOf(tables)}`, "=", targetId)
    .where("r.teamId", "=", teamId)
    .executeTakeFirst();
}

export async function insertRecord(
  tx: Tx,
  tables: AccessTables,
  target: Granted<GrantTarget, "can-manage-team-access">,
  { targetId, ...row }: AccessRow & GrantOrigin,
): Promise<void> {
  await tx.db
    .insertInto(tableOf(tables))
    .values({ ...row, [tables.column]: targetId } as Schema["teamProjects"])
    .execute();
  await tables.count?.(tx, target.targetId, 1);
}

export async function updateRecord(
  tx: Tx,
  { records: table }: AccessTables,
  record: Granted<AccessRecord, "can-manage">,
  changes: Partial<AccessTerms & GrantOrigin>,
): Promise<void> {
  await updateRow(tx, table, record.id, changes);
}

export async function deleteRecord(
  tx: Tx,
  tables: AccessTables,
  record: Granted<AccessRecord, "can-manage">,
): Promise<void> {
  await tx.db.deleteFrom(tableOf(tables)).where("id", "=", record.id).execute();
  await tables.count?.(tx, record.targetId, -1);
}
