/** What lists of runs are filtered by: pieces of SQL for a statement with runs `r` and their workspaces `w`. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import { nowMs } from "../../../kernel/time.ts";
import type { Tx } from "../../../database/database.ts";
import { containsWords } from "../../../database/dialect.ts";
import { discardableStatuses } from "./machine.ts";

export interface RunFilters {
  readonly operations?: readonly string[] | undefined;
  readonly statuses?: readonly string[] | undefined;
  readonly statusGroup?: string | undefined;
  readonly sources?: readonly string[] | undefined;
  readonly timeframe?: string | undefined;
  readonly agentPoolNames?: readonly string[] | undefined;
  readonly workspaceNames?: readonly string[] | undefined;
  readonly user?: string | undefined;
  readonly commit?: string | undefined;
  readonly basic?: string | undefined;
}

const nothing = sql<SqlBool>`1 = 0`;
type Condition = RawBuilder<SqlBool>;

/** All must be fulfilled. A word that nobody knows matches nothing. */
export function conditionsOf({ dialect }: Tx, organizationId: string | undefined, filters: RunFilters): Condition[] {
  const isOneOf = (column: string, values: readonly string[]) => dialect.isOneOf(sql.ref(column), values);
  const conditions: Condition[] = [];
  if (filters.operations !== undefined) conditions.push(isOneOf("r.operation", filters.operations));
  if (filters.statuses !== undefined) conditions.push(statusCondition(dialect.isOneOf, filters.statuses));
  if (filters.statusGroup !== undefined) conditions.push(groupCondition(filters.statusGroup));
  if (filters.sources !== undefined) conditions.push(isOneOf("r.source", filters.sources));
  if (filters.timeframe !== undefined) conditions.push(timeCondition(filters.timeframe));
  if (filters.workspaceNames !== undefined) conditions.push(isOneOf("w.name", filters.workspaceNames));
  if (filters.agentPoolNames !== undefined)
    conditions.push(sql<SqlBool>`r.agent_pool_id in (
      select id from agent_pools where organization_id = ${organizationId ?? ""}
        and ${dialect.isOneOf(sql.ref("name"), filters.agentPoolNames)})`);
  return [...conditions, ...searchConditions(dialect, filters)];
}

function statusCondition(isOneOf: Tx["dialect"]["isOneOf"], statuses: readonly string[]): Condition {
  const plain = isOneOf(sql.ref("r.status"), statuses);
  // A documented word for what the document calls `canceled`.
  if (!statuses.includes("force_canceled")) return plain;
  return sql<SqlBool>`(${plain} or (r.status = 'canceled' and r.force_canceled_at is not null))`;
}

function groupCondition(group: string): Condition {
  if (group === "non_final") return sql<SqlBool>`r.ended_at is null`;
  if (group === "final") return sql<SqlBool>`r.ended_at is not null`;
  if (group === "discardable")
    return sql<SqlBool>`r.status in (${sql.join(discardableStatuses.map((status) => sql.lit(status)))})`;
  return nothing;
}

function timeCondition(timeframe: string): Condition {
  if (timeframe === "year") {
    const since = new Date(nowMs());
    since.setUTCFullYear(since.getUTCFullYear() - 1);
    return sql<SqlBool>`r.created_at >= ${since.toISOString()}`;
  }
  if (!/^[0-9]{4}$/.test(timeframe)) return nothing;
  return sql<SqlBool>`(r.created_at >= ${`${timeframe}-01-01`} and r.created_at < ${`${String(Number(timeframe) + 1).padStart(4, "0")}-01-01`})`;
}

function searchConditions(dialect: Tx["dialect"], { user, commit, basic }: RunFilters): Condition[] {
  // Both engines fold the letters of ASCII, and only these.
  const folded = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
  const textOf = (column: string) => sql<string>`lower(coalesce(${sql.ref(column)}, ''))`;
  const has = (columns: readonly string[], search: string) =>
    containsWords(dialect, columns.map(textOf), search, folded);
  const found: Condition[] = [];
  if (user) found.push(has(["r.createdByName"], user));
  if (commit) found.push(has(["r.commitSha"], commit));
  if (basic && !user && !commit) found.push(has(["r.createdByName", "r.commitSha", "r.id", "r.message"], basic));
  return found;
}
