/** Variable sets and their scopes; variables belong to a workspace or a set. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";

export const variableSets: Migration = {
  name: "0006-variable-sets",
  statements: [
    `CREATE TABLE varsets (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      parent_project_id TEXT REFERENCES projects (id) ON DELETE CASCADE,
      name TEXT NOT NULL,
      name_key TEXT NOT NULL,
      description TEXT NOT NULL,
      global INTEGER NOT NULL,
      priority INTEGER NOT NULL,
      linked_count INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      updated_at TEXT NOT NULL,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX varsets_name ON varsets (organization_id, name_key)`,
    `CREATE INDEX varsets_of_project ON varsets (parent_project_id) WHERE parent_project_id IS NOT NULL`,
    `CREATE INDEX varsets_global ON varsets (organization_id) WHERE global = 1`,

    `CREATE TABLE varset_workspaces (
      ${ofOrganization},
      varset_id TEXT NOT NULL REFERENCES varsets (id) ON DELETE CASCADE,
      workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
      PRIMARY KEY (varset_id, workspace_id)
    )`,
    `CREATE INDEX varset_workspaces_of ON varset_workspaces (workspace_id)`,
    `CREATE INDEX varset_workspaces_organization ON varset_workspaces (organization_id)`,
    `CREATE TABLE varset_projects (
      ${ofOrganization},
      varset_id TEXT NOT NULL REFERENCES varsets (id) ON DELETE CASCADE,
      project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
      PRIMARY KEY (varset_id, project_id)
    )`,
    `CREATE INDEX varset_projects_of ON varset_projects (project_id)`,
    `CREATE INDEX varset_projects_organization ON varset_projects (organization_id)`,

    // Exactly one owner. Nulls are distinct in an index, so each unique index covers one kind of owner.
    `CREATE TABLE vars (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      workspace_id TEXT REFERENCES workspaces (id) ON DELETE CASCADE,
      varset_id TEXT REFERENCES varsets (id) ON DELETE CASCADE,
      key TEXT NOT NULL,
      value BYTES NOT NULL,
      description TEXT NOT NULL,
      category TEXT NOT NULL,
      hcl INTEGER NOT NULL,
      sensitive INTEGER NOT NULL,
      created_at TEXT NOT NULL,
      version INTEGER NOT NULL,
      CHECK ((workspace_id IS NULL) <> (varset_id IS NULL))
    )`,
    `CREATE UNIQUE INDEX vars_key ON vars (workspace_id, category, key)`,
    `CREATE UNIQUE INDEX vars_key_in_set ON vars (varset_id, category, key)`,
    `CREATE INDEX vars_of ON vars (organization_id, workspace_id, key, id)`,
    `CREATE INDEX vars_of_set ON vars (organization_id, varset_id, key, id)`,
  ],
};
