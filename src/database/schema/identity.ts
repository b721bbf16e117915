/** Users, organizations, memberships, teams and tokens. Flags are 0 or 1. */

export interface UserTable {
  id: string;
  username: string;
  usernameKey: string;
  email: string;
  emailKey: string;
  /** Requested, but not confirmed by a site admin: nothing may depend on it. */
  unconfirmedEmail: string | null;
  isSiteAdmin: number;
  isServiceAccount: number;
  /** The organization that verified the address, by its own provider or its link; null once a site admin sets it. */
  managedById: string | null;
  createdAt: string;
  version: number;
}

export interface PasswordTable {
  userId: string;
  hash: string;
  changedAt: string;
  version: number;
}

export interface InvitationTable {
  id: string;
  hash: string;
  organizationId: string | null;
  membershipId: string | null;
  userId: string | null;
  /** 1: the creator vouches for the address in every organization. */
  confirmsEmail: number;
  /** The creator, as in the audit log; null for links from before it was stored. */
  madeById: string | null;
  createdAt: string;
  expiresAt: string;
}

/** A user's consent to issue a token to a program, for a code that can be used once. */
export interface AuthorizationTable {
  id: string;
  hash: string;
  userId: string;
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  name: string;
  tokenExpiresAt: string | null;
  tokenId: string | null;
  createdAt: string;
  expiresAt: string;
}

export interface OrganizationTable {
  id: string;
  name: string;
  nameKey: string;
  email: string;
  defaultExecutionMode: string;
  defaultAgentPoolId: string | null;
  allowForceDeleteWorkspaces: number;
  assessmentsEnforced: number;
  collaboratorAuthPolicy: string;
  costEstimationEnabled: number;
  sessionRemember: number | null;
  sessionTimeout: number | null;
  ownersTeamSamlRoleId: string | null;
  sendPassingStatusesForUntriggeredSpeculativePlans: number;
  aggregatedCommitStatusEnabled: number;
  speculativePlanManagementEnabled: number;
  userTokensEnabled: number;
  maxTtlEnabled: number;
  stacksEnabled: number;
  /** 1: invisible to everybody but site admins. */
  isDisabled: number;
  accessBetaTools: number;
  globalModuleSharing: number;
  globalProviderSharing: number;
  terraformWorkerSudoEnabled: number;
  applyTimeout: string | null;
  planTimeout: string | null;
  /** Null or 0: unlimited. */
  workspaceLimit: number | null;
  defaultProjectId: string;
  /** Maintained with every change, so that an unfiltered list needs no COUNT. Not shown, so it raises no version. */
  projectCount: number;
  /** Of its access rules. Not shown, so it raises no version. */
  enabledRuleCount: number;
  createdAt: string;
  version: number;
  /** Raised by changes that other documents show (`shared/versions.ts`). */
  factsVersion: number;
  /** Raised by changes that others inherit: execution mode and agent pool (`shared/versions.ts`). */
  defaultsVersion: number;
  /** 1 if runs can be executed remotely, or ever could. */
  operations: number;
  /** Set when it is deleted: from then on it exists for nobody, and a job empties it. */
  closedAt: string | null;
  accessRequestLapseSeconds: number;
}

export interface OrganizationTokenTtlPolicyTable {
  id: string;
  organizationId: string;
  tokenType: string;
  maxTtlMs: number;
  createdAt: string;
  updatedAt: string;
  version: number;
}

export interface ModuleConsumerTable {
  organizationId: string;
  consumerId: string;
}

export interface AccessVersionTable {
  organizationId: string;
  version: number;
  raisedIn: number;
}

export interface IdentityTrustTable {
  id: string;
  organizationId: string;
  teamId: string;
  name: string;
  nameKey: string;
  issuer: string;
  audience: string;
  /** JSON: claim → pattern. */
  claims: string;
  tokenSeconds: number;
  createdAt: string;
  version: number;
}

export interface OrganizationMembershipTable {
  id: string;
  organizationId: string;
  userId: string | null;
  email: string;
  emailKey: string;
  status: string;
  createdAt: string;
  version: number;
}

export interface TeamTable {
  id: string;
  organizationId: string;
  name: string;
  nameKey: string;
  isOwners: number;
  description: string | null;
  visibility: string;
  ssoTeamId: string | null;
  allowMemberTokenManagement: number;
  /** Organization-level permissions as bits (`access/organization.ts`). */
  organizationAccess: number;
  usersCount: number;
  createdAt: string;
  version: number;
}

export interface TeamMemberTable {
  organizationId: string;
  teamId: string;
  membershipId: string;
  userId: string | null;
  expiresAt: string | null;
  reason: string | null;
  ssoProviderId: string | null;
  ssoGroup: string | null;
  /** As in the records of team access. */
  grantedById: string | null;
  accessRequestId: string | null;
  createdAt: string;
}

export interface TokenTable {
  id: string;
  /** `user`, `team`, `organization`, `session` (a user in a browser), or `audit-trails`, which can only read the audit log. */
  kind: string;
  userId: string | null;
  teamId: string | null;
  organizationId: string | null;
  /** 1 for the single token of a team or organization that a new one replaces. */
  isLegacy: number;
  hash: string;
  description: string | null;
  createdById: string | null;
  createdAt: string;
  expiredAt: string | null;
  lastUsedAt: string | null;
  version: number;
  /** The token that started the session, which ends with it; null where a password did. */
  begunById: string | null;
  identityTrustId: string | null;
}

export type ShownToken = Omit<TokenTable, "hash" | "begunById" | "identityTrustId">;
