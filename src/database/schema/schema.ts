/** Every table of the register. A file per area holds the rows' types; migrations hold the columns' definitions. */
import type { AuditEventTable } from "./audit.ts";
import type {
  OrganizationMembershipTable,
  OrganizationTable,
  TeamMemberTable,
  TeamTable,
  TokenTable,
  UserTable,
} from "./identity.ts";
import type { MetaTable, MigrationTable } from "./meta.ts";
import type { ProjectTable, TeamProjectTable } from "./projects.ts";

export interface Schema {
  meta: MetaTable;
  migrations: MigrationTable;
  users: UserTable;
  organizations: OrganizationTable;
  organizationMemberships: OrganizationMembershipTable;
  teams: TeamTable;
  teamMembers: TeamMemberTable;
  tokens: TokenTable;
  projects: ProjectTable;
  teamProjects: TeamProjectTable;
  auditEvents: AuditEventTable;
}
