/** Which organizations have changed, for the response cache. Triggers record it, so that no change can miss it. */
import type { Migration } from "./migration.ts";

const ofOrganization = [
  "agent_pool_scopes",
  "agent_pools",
  "agent_tokens",
  "assessment_results",
  "audit_webhooks",
  "comments",
  "configuration_versions",
  "data_retention_policies",
  "identity_trusts",
  "invitations",
  "module_consumers",
  "notification_configuration_members",
  "notification_configurations",
  "oauth_client_projects",
  "oauth_clients",
  "oauth_tokens",
  "organization_memberships",
  "organization_token_ttl_policies",
  "projects",
  "remote_state_consumers",
  "reserved_tag_keys",
  "run_triggers",
  "runs",
  "ssh_keys",
  "sso_providers",
  "state_versions",
  "tag_bindings",
  "tags",
  "team_members",
  "team_projects",
  "team_workspaces",
  "teams",
  "vars",
  "varset_projects",
  "varset_workspaces",
  "varsets",
  "vcs_events",
  "workspace_tags",
  "workspaces",
];
const ofSite = ["engine_versions", "site_agent_pools", "site_operations", "users"];

export const organizationChanges: Migration = {
  name: "0055-organization-changes",
  kind: "adds",
  writersKnow: "0042-official-document",
  statements: [],
  only: {
    sqlite: ["CREATE TABLE organization_changes (id INTEGER PRIMARY KEY, organization_id TEXT NOT NULL) STRICT"],
    postgres: [
      // `horizon`: in marks of the job that trims the table; transactions before it had ended.
      `CREATE TABLE organization_changes (
        transaction_id bigint NOT NULL,
        organization_id text COLLATE "C" NOT NULL,
        horizon bigint,
        PRIMARY KEY (transaction_id, organization_id)
      )`,
    ],
  },
  recordsChanges: {
    organizations: "id",
    ...Object.fromEntries(ofOrganization.map((table) => [table, "organization_id"] as const)),
    ...Object.fromEntries(ofSite.map((table) => [table, null])),
  },
};
