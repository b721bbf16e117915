/**
 * What a workspace's document shows of other rows: the columns, and the joins that bring them. Every statement that loads
 * whole workspaces, the show and the lists alike, is made from this one table.
 */
import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Schema } from "../../../database/schema/schema.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { ConnectedFacts } from "./view.ts";

/** A statement's workspaces, called `w`. */
export type Workspaces = SelectQueryBuilder<Schema & { w: Schema["workspaces"] }, "w", object>;

/** A whole workspace with what is connected to it. */
export type ConnectedRow = WorkspaceTable & ConnectedFacts;

const columns: Readonly<Record<keyof ConnectedFacts, string>> = {
  projectExecutionMode: "p.defaultExecutionMode",
  projectAgentPoolId: "p.defaultAgentPoolId",
  projectDefaults: "p.defaultsVersion",
  projectDuration: "p.autoDestroyActivityDuration",
  oauthClientId: "c.id",
  oauthClientName: "c.name",
  serviceProvider: "c.serviceProvider",
  httpUrl: "c.httpUrl",
  retentionId: "d.id",
  retentionKind: "d.kind",
};

interface Join {
  readonly table: keyof Schema;
  readonly alias: string;
  readonly on: readonly [string, string];
}

const joins: readonly Join[] = [
  { table: "projects", alias: "p", on: ["p.id", "w.projectId"] },
  { table: "oauthTokens", alias: "k", on: ["k.id", "w.vcsOauthTokenId"] },
  { table: "oauthClients", alias: "c", on: ["c.id", "k.oauthClientId"] },
  { table: "dataRetentionPolicies", alias: "d", on: ["d.workspaceId", "w.id"] },
];

const aliased = Object.entries(columns).map(([name, column]) => ({ name, column: sql.ref(column) }));

/** The columns of a statement with workspaces `w`, as text. */
export const connectedColumns: RawBuilder<unknown> = sql.join([
  sql`w.*`,
  ...aliased.map(({ name, column }) => sql`${column} as ${sql.ref(name)}`),
]);

/** The joins that they need, as text. */
export const connectedJoins: RawBuilder<unknown> = sql.join(
  joins.map(
    ({ table, alias, on: [left, right] }) =>
      sql`left join ${sql.table(table)} as ${sql.table(alias)} on ${sql.ref(left)} = ${sql.ref(right)}`,
  ),
  sql` `,
);

type Joined = Schema & { w: WorkspaceTable; o: Schema["organizations"] };

/** The same for the query builder. */
export function connected(query: Workspaces): SelectQueryBuilder<Joined, "w", ConnectedRow> {
  // The builder's types follow names that are written out; what this gives is in the type that it returns.
  const joined = joins.reduce<any>((found, { table, alias, on: [left, right] }) => {
    return found.leftJoin(`${table} as ${alias}`, left, right);
  }, query);
  return joined.selectAll("w").select(aliased.map(({ name, column }) => column.as(name)));
}
