/** Leaves out what belongs to a closed organization, for statements that don't read `open_organizations`. */
import { type JoinBuilder, type RawBuilder, sql, type SqlBool } from "kysely";

/**
 * For `innerJoin("organizations as o", …)`. A join with the view would lock in the wrong order: PostgreSQL locks the rows behind a view
 * after those of the statement's own tables.
 */
export const openWithId =
  (organizationId: string) =>
  (join: JoinBuilder<any, any>): JoinBuilder<any, any> =>
    join.onRef("o.id", "=", organizationId).on("o.closedAt", "is", null);

/** Also true without an organization. */
export const isInOpenOrganization = (organizationId: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`not exists (
    select 1 from organizations as closed where closed.id = ${sql.ref(organizationId)} and closed.closed_at is not null)`;
