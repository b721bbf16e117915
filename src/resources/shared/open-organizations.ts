/** Leaves out what belongs to a closed organization, for statements that don't read `open_organizations`. */
import { type RawBuilder, sql, type SqlBool } from "kysely";

/** Also true without an organization. */
export const isInOpenOrganization = (organizationId: string): RawBuilder<SqlBool> =>
  sql<SqlBool>`not exists (
    select 1 from organizations as closed where closed.id = ${sql.ref(organizationId)} and closed.closed_at is not null)`;
