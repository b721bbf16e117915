/** Who there is: users, organizations, memberships, teams and tokens. Flags are 0 or 1 on both engines. */

export interface UserTable {
  id: string;
  username: string;
  usernameKey: string;
  email: string;
  emailKey: string;
  /** An address that the user asked for and no site admin has confirmed: nothing is decided by it. */
  unconfirmedEmail: string | null;
  isSiteAdmin: number;
  isServiceAccount: number;
  /** The organization that alone vouches for the address, by its own provider or its link, until a site admin sets it. */
  managedById: string | null;
  createdAt: string;
  version: number;
}

/** How a person signs in; see `kernel/passwords.ts`. */
export interface PasswordTable {
  userId: string;
  hash: string;
  changedAt: string;
  version: number;
}

/** A link by which somebody comes in: to a membership, or to a user who has no password yet. */
export interface InvitationTable {
  id: string;
  hash: string;
  /** Of the membership. */
  organizationId: string | null;
  membershipId: string | null;
  userId: string | null;
  /** 1: whoever made it also vouches for the address, in every organization. */
  confirmsEmail: number;
  /** As the trail names whoever does something; null for those of before this was kept. */
  madeById: string | null;
  createdAt: string;
  expiresAt: string;
}

/** What a user has allowed a program to get: a token, for a code that is sent once. */
export interface AuthorizationTable {
  id: string;
  hash: string;
  userId: string;
  clientId: string;
  redirectUri: string;
  codeChallenge: string;
  /** Of the token, and when that is to end; null for never. */
  name: string;
  tokenExpiresAt: string | null;
  /** Of the token that was given for the code; null while it was not sent. */
  tokenId: string | null;
  createdAt: string;
  /** Of the code. */
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
  /** 0: users' own tokens are refused on everything of the organization. */
  userTokensEnabled: number;
  /** 1: tokens work no longer than the organization's policies on their lifetime allow. */
  maxTtlEnabled: number;
  stacksEnabled: number;
  /** 1: a site admin closed it; to everybody else it is not there. */
  isDisabled: number;
  accessBetaTools: number;
  globalModuleSharing: number;
  globalProviderSharing: number;
  terraformWorkerSudoEnabled: number;
  applyTimeout: string | null;
  planTimeout: string | null;
  /** Null or 0: as many workspaces as it likes. */
  workspaceLimit: number | null;
  defaultProjectId: string;
  /** Kept with every creation and deletion, so that an unfiltered list needs no COUNT. Not shown, so it raises no version. */
  projectCount: number;
  createdAt: string;
  version: number;
  /** Raised by what other documents show of it (`shared/versions.ts`). */
  factsVersion: number;
  /** Raised by what others follow of it: its execution mode and agent pool (`shared/versions.ts`). */
  defaultsVersion: number;
  /** Whether something executes for it, or has ever been able to. */
  operations: number;
}

/** How long tokens of one type work in an organization, where its `maxTtlEnabled` says so. Each has one of each type. */
export interface OrganizationTokenTtlPolicyTable {
  id: string;
  organizationId: string;
  /** `organization`, `team`, `user` or `audit_trails`. */
  tokenType: string;
  maxTtlMs: number;
  createdAt: string;
  updatedAt: string;
  version: number;
}

/** Which organizations may use another's modules. */
export interface ModuleConsumerTable {
  organizationId: string;
  consumerId: string;
}

/** Kept by triggers (`migrations/0012-access-versions.ts`). */
export interface AccessVersionTable {
  organizationId: string;
  version: number;
  raisedIn: number;
}

/** Whose word is taken for whom. */
export interface IdentityTrustTable {
  id: string;
  organizationId: string;
  teamId: string;
  name: string;
  nameKey: string;
  issuer: string;
  audience: string;
  /** An object of claim → pattern, as JSON. */
  claims: string;
  tokenSeconds: number;
  createdAt: string;
  version: number;
}

export interface OrganizationMembershipTable {
  id: string;
  organizationId: string;
  /** Null while `invited`: nobody with this address exists yet. */
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
  /** Null while the membership is `invited`. */
  userId: string | null;
  /** The moment from which on the person is not in the team any more; null for ever. And why the person is in it. */
  expiresAt: string | null;
  reason: string | null;
  /** The provider and its group by which the person is in it; null where somebody put the person there. */
  ssoProviderId: string | null;
  ssoGroup: string | null;
  createdAt: string;
}

export interface TokenTable {
  id: string;
  /**
   * Whom it stands for: `user`, `team` or `organization`; or `audit-trails`, which reads an organization's trail and no more; or
   * `session`, a user in a browser.
   */
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
  /** Of a session, the token that somebody signed in with instead of a password: without it the session is none. */
  begunById: string | null;
  /** Of a team's token that a pipeline was given in exchange for its own, the trust that allowed it. */
  identityTrustId: string | null;
}

/** A token as documents and lists show it: without what only authentication needs. */
export type ShownToken = Omit<TokenTable, "hash" | "begunById" | "identityTrustId">;
