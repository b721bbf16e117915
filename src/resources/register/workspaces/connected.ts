/** The columns of other tables that a workspace's document shows, with their joins. */
import { type RawBuilder, type SelectQueryBuilder, sql } from "kysely";
import type { Schema } from "../../../database/schema/schema.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { RelatedColumns } from "./view.ts";

export type WorkspacesQuery = SelectQueryBuilder<Schema & { w: Schema["workspaces"] }, "w", object>;

export type ConnectedRow = WorkspaceTable & RelatedColumns;

const columns: Readonly<Record<keyof RelatedColumns, string>> = {
  projectExecutionMode: "p.defaultExecutionMode",
  projectAgentPoolId: "p.defaultAgentPoolId",
  projectDefaultsVersion: "p.defaultsVersion",
  projectDuration: "p.autoDestroyActivityDuration",
  oauthClientId: "c.id",
  oauthClientName: "c.name",
  serviceProvider: "c.serviceProvider",
  httpUrl: "c.httpUrl",
  retentionId: "d.id",
  retentionKind: "d.kind",
};

interface ConnectionJoin {
  readonly table: keyof Schema;
  readonly alias: string;
  readonly on: readonly [string, string];
}

const joins: readonly ConnectionJoin[] = [
  { table: "projects", alias: "p", on: ["p.id", "w.projectId"] },
  { table: "oauthTokens", alias: "k", on: ["k.id", "w.vcsOauthTokenId"] },
  { table: "oauthClients", alias: "c", on: ["c.id", "k.oauthClientId"] },
  { table: "dataRetentionPolicies", alias: "d", on: ["d.workspaceId", "w.id"] },
];

const aliased = Object.entries(columns).map(([name, column]) => ({ name, column: sql.ref(column) }));

export const connectedColumns: RawBuilder<unknown> = sql.join([
  sql`w.*`,
  ...aliased.map(({ name, column }) => sql`${column} as ${sql.ref(name)}`),
]);

export const connectedJoins: RawBuilder<unknown> = sql.join(
  joins.map(
    ({ table, alias, on: [left, right] }) =>
      sql`left join ${sql.table(table)} as ${sql.table(alias)} on ${sql.ref(left)} = ${sql.ref(right)}`,
  ),
  sql` `,
);

type JoinedSchema = Schema & { w: WorkspaceTable; o: Schema["organizations"] };

export function joinConnections(query: WorkspacesQuery): SelectQueryBuilder<JoinedSchema, "w", ConnectedRow> {
  // The builder can't infer types from computed names.
  const joined = joins.reduce<any>((builder, { table, alias, on: [left, right] }) => {
    return builder.leftJoin(`${table} as ${alias}`, left, right);
  }, query);
  return joined.selectAll("w").select(aliased.map(({ name, column }) => column.as(name)));
}
