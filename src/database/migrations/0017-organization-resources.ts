/**
 * What all workspaces of an organization manage is asked for by type, provider and module. The rows are those that every state leaves
 * when it arrives, or when the job has read it; older states that are still listed here are told apart by what workspaces have in force.
 */
import type { Migration } from "./migration.ts";

/** An entry of PostgreSQL's indexes can't be larger; `resources/store.ts` says the same. */
const small = "octet_length(address) + octet_length(type) + octet_length(provider) + octet_length(module) <= 2400";

/** In the order of a page; `first` narrows it. */
const indexed = (name: string, first: string) =>
  `CREATE INDEX state_resources_by_${name} ON state_resources (organization_id, ${first}address, state_version_id) WHERE ${small}`;

export const organizationResources: Migration = {
  name: "0017-organization-resources",
  statements: [
    indexed("address", ""),
    indexed("type", "type, "),
    indexed("provider", "provider, "),
    indexed("module", "module, "),
    // Whose state in force it is, and how many resources all of them have.
    `CREATE INDEX workspaces_state_in_force ON workspaces (organization_id, current_state_version_id, resource_count)`,
  ],
};
