/** Indexes for an organization's resources by type, provider and module. */
import type { Migration } from "./migration.ts";

/** The size limit of PostgreSQL's index entries; `resources/store.ts` uses the same. */
const small = "octet_length(address) + octet_length(type) + octet_length(provider) + octet_length(module) <= 2400";

const indexed = (name: string, first: string) =>
  `CREATE INDEX state_resources_by_${name} ON state_resources (organization_id, ${first}address, state_version_id) WHERE ${small}`;

export const organizationResources: Migration = {
  name: "0017-organization-resources",
  statements: [
    indexed("address", ""),
    indexed("type", "type, "),
    indexed("provider", "provider, "),
    indexed("module", "module, "),
    `CREATE INDEX workspaces_state_in_force ON workspaces (organization_id, current_state_version_id, resource_count)`,
  ],
};
