/** Connections of workspaces: SSH keys, agent pools, VCS, engine versions. Secrets are encrypted by the vault. */

export interface SshKeyTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  value: Uint8Array;
  createdAt: string;
  version: number;
}

export interface AgentPoolTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  organizationScoped: number;
  createdAt: string;
  version: number;
  /** Of the agent that registered last, as in `agents`; null before the first. */
  offeredEngines: string | null;
  /** 1 if that agent fetches engines. */
  offeredFetching: number | null;
  offeredMs: number | null;
}

export interface AgentTokenTable {
  id: string;
  organizationId: string | null;
  agentPoolId: string | null;
  siteAgentPoolId: string | null;
  hash: string;
  description: string;
  createdById: string;
  createdAt: string;
  lastUsedAt: string | null;
  version: number;
}

export interface AgentPoolScopeTable {
  organizationId: string;
  agentPoolId: string;
  /** `allowed-workspaces`, `allowed-projects` or `excluded-workspaces`. */
  kind: string;
  targetId: string;
}

export interface OauthClientTable {
  id: string;
  organizationId: string;
  name: string | null;
  serviceProvider: string;
  apiUrl: string;
  httpUrl: string;
  key: string | null;
  secret: Uint8Array | null;
  rsaPublicKey: string | null;
  organizationScoped: number;
  /** Deleted projects still count: the version rises with the difference to the existing links. */
  linkedCount: number;
  /** Encrypted for `oauth_clients/ID/webhook_secret`. */
  webhookSecret: Uint8Array | null;
  webhookSecretNumber: number;
  formerWebhookSecret: Uint8Array | null;
  formerWebhookSecretUntil: string | null;
  createdAt: string;
  version: number;
}

export interface OauthClientProjectTable {
  organizationId: string;
  oauthClientId: string;
  projectId: string;
}

export interface OauthTokenTable {
  id: string;
  organizationId: string;
  oauthClientId: string;
  uid: string;
  serviceProviderUser: string;
  secret: Uint8Array | null;
  sshKey: Uint8Array | null;
  createdAt: string;
  version: number;
}

export interface EngineVersionTable {
  id: string;
  engineVersion: string;
  url: string | null;
  sha: string | null;
  official: number;
  enabled: number;
  beta: number;
  deprecated: number;
  deprecatedReason: string | null;
  /** JSON: a list of `{ url, sha, os, arch }`. */
  archs: string;
  createdAt: string;
  version: number;
}
