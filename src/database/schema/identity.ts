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
  createdAt: string;
  version: number;
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
  defaultProjectId: string;
  /** Kept with every creation and deletion, so that an unfiltered list needs no COUNT. Not shown, so it raises no version. */
  projectCount: number;
  createdAt: string;
  version: number;
  /** Raised by what other documents show of it (`shared/versions.ts`). */
  factsVersion: number;
  /** Raised by what others follow of it: its execution mode and agent pool (`shared/versions.ts`). */
  defaultsVersion: number;
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
  createdAt: string;
}

export interface TokenTable {
  id: string;
  /** Whom it stands for: `user`, `team` or `organization`; or `audit-trails`, which reads an organization's trail and no more. */
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
}
