/**
 * What the embedded database counts by itself, by the triggers of migration 0033: it goes through an index one entry after the other,
 * and a list's total is to be exact. PostgreSQL does without: its writers would wait for each other at such counters.
 */
import { type RawBuilder, type SqlBool, sql } from "kysely";

export interface RegisterCounts {
  /** How many workspaces of an organization have a binding of their own with a key, and a value if one is given. */
  bound(
    organizationId: string,
    asked: { readonly key: string; readonly value?: string | undefined },
  ): RawBuilder<number>;
  /** How many have a current run in a state; `fits` is told the column. */
  inState(organizationId: string, fits: (column: string) => RawBuilder<SqlBool>): RawBuilder<number>;
}

export const sqliteCounts: RegisterCounts = {
  bound: (organizationId, { key, value }) => sql<number>`(
    select coalesce(sum(c.number), 0) from tag_binding_counts as c
    where c.organization_id = ${organizationId} and c.key = ${key} ${value ? sql`and c.value = ${value}` : sql``})`,
  inState: (organizationId, fits) => sql<number>`(
    select coalesce(sum(c.number), 0) from run_status_counts as c
    where c.organization_id = ${organizationId} and ${fits("c.status")})`,
};
