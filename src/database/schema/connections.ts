/** What workspaces are connected to: keys, agents, version control, engine versions. Secrets are sealed by the vault. */

export interface SshKeyTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  /** Sealed for `ssh_keys/ID/value`. */
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
}

/** The secret by which agents of a pool are known, as its SHA-256. */
export interface AgentTokenTable {
  id: string;
  /** Null for a token of a site pool. */
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

/** Which workspaces and projects a pool that is not for the whole organization serves, or does not. */
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
  /** Sealed for `oauth_clients/ID/secret`. */
  secret: Uint8Array | null;
  rsaPublicKey: string | null;
  organizationScoped: number;
  /** How many projects requests have added and not taken away; by the difference to those that there are, the version rises. */
  linkedCount: number;
  /** Sealed for `oauth_clients/ID/webhook_secret`; null where there never was one. */
  webhookSecret: Uint8Array | null;
  /** Counts them. */
  webhookSecretNumber: number;
  /** The one before, sealed for the same, and until when it is good. */
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
  /** Sealed for `oauth_tokens/ID/secret`. */
  secret: Uint8Array | null;
  /** Sealed for `oauth_tokens/ID/ssh_key`. */
  sshKey: Uint8Array | null;
  createdAt: string;
  version: number;
}

/** Versions that ship with the service, and those that site admins add. */
export interface EngineVersionTable {
  id: string;
  engineVersion: string;
  /** Of the archive for `linux` and `amd64`, as `archs` has it. */
  url: string | null;
  sha: string | null;
  official: number;
  enabled: number;
  beta: number;
  deprecated: number;
  /** Null unless deprecated. */
  deprecatedReason: string | null;
  /** JSON: a list of `{ url, sha, os, arch }`. */
  archs: string;
  createdAt: string;
  version: number;
}
