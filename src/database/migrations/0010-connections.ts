/** Scopes of VCS connections, and the tokens of agent pools. */
import type { Migration } from "./migration.ts";

const ofOrganization = "organization_id TEXT NOT NULL REFERENCES organizations (id) ON DELETE CASCADE";

export const connections: Migration = {
  name: "0010-connections",
  statements: [
    `CREATE TABLE oauth_client_projects (
      ${ofOrganization},
      oauth_client_id TEXT NOT NULL REFERENCES oauth_clients (id) ON DELETE CASCADE,
      project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
      PRIMARY KEY (oauth_client_id, project_id)
    )`,
    `CREATE INDEX oauth_client_projects_of ON oauth_client_projects (project_id)`,
    `CREATE INDEX oauth_client_projects_organization ON oauth_client_projects (organization_id)`,
    `ALTER TABLE oauth_clients ADD COLUMN linked_count INTEGER NOT NULL DEFAULT 0`,

    // Separate from other tokens, because these can't call the API.
    `CREATE TABLE agent_tokens (
      id TEXT PRIMARY KEY,
      ${ofOrganization},
      agent_pool_id TEXT NOT NULL REFERENCES agent_pools (id) ON DELETE CASCADE,
      hash TEXT NOT NULL,
      description TEXT NOT NULL,
      created_by_id TEXT NOT NULL,
      created_at TEXT NOT NULL,
      last_used_at TEXT,
      version INTEGER NOT NULL
    )`,
    `CREATE UNIQUE INDEX agent_tokens_hash ON agent_tokens (hash)`,
    `CREATE INDEX agent_tokens_newest ON agent_tokens (organization_id, agent_pool_id, created_at, id)`,
    `CREATE INDEX agent_tokens_of_pool ON agent_tokens (agent_pool_id)`,
  ],
};
