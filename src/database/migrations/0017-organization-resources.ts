/**
 * What all workspaces of an organization manage is asked for by type, provider and module. The rows are those that every state leaves
 * when it arrives, or when the job has read it; older states that are still listed here are told apart by what workspaces have in force.
 */
import type { Migration } from "./migration.ts";

export const organizationResources: Migration = {
  name: "0017-organization-resources",
  statements: [
    `CREATE INDEX state_resources_by_address ON state_resources (organization_id, address, state_version_id)`,
    `CREATE INDEX state_resources_by_type ON state_resources (organization_id, type, address, state_version_id)`,
    `CREATE INDEX state_resources_by_provider ON state_resources (organization_id, provider, address, state_version_id)`,
    `CREATE INDEX state_resources_by_module ON state_resources (organization_id, module, address, state_version_id)`,
    // Whose state in force it is, and how many resources all of them have.
    `CREATE INDEX workspaces_state_in_force ON workspaces (organization_id, current_state_version_id, resource_count)`,
  ],
};
