/** Derives an actor's standing in an organization, and the access to all of its projects and workspaces that follows from it. */
import { AppError } from "../kernel/errors.ts";
import { type Actor, isSiteAdmin } from "./actor.ts";
import { projectLevelMask } from "./levels.ts";
import { allPermissions, type Mask, maskOf } from "./permission-set.ts";

/** Index + 1 is the bit in `teams.organization_access`; bit 0 is the owners team. Append only: the numbers are stored. */
export const organizationPermissionNames = [
  "manage-workspaces",
  "read-workspaces",
  "manage-projects",
  "read-projects",
  "manage-teams",
  "manage-membership",
  "manage-organization-access",
  "access-secret-teams",
  "manage-vcs-settings",
  "manage-agent-pools",
  "manage-policies",
  "manage-policy-overrides",
  "manage-run-tasks",
  "manage-modules",
  "manage-providers",
  "delegate-policy-overrides",
] as const;
export type OrganizationPermission = (typeof organizationPermissionNames)[number];

const ownersBit = 1;
const allOrganizationBits = (1 << (organizationPermissionNames.length + 1)) - 1;

export const ownersAccess: Mask = allOrganizationBits;

export function organizationBit(permission: OrganizationPermission): Mask {
  return 1 << (organizationPermissionNames.indexOf(permission) + 1);
}

export type OrganizationAccess = Readonly<Record<OrganizationPermission, boolean>>;

export function organizationAccessOf(mask: Mask): OrganizationAccess {
  return Object.fromEntries(
    organizationPermissionNames.map((name) => [name, (mask & organizationBit(name)) !== 0]),
  ) as OrganizationAccess;
}

/** Permissions that `chosen` leaves out keep their value in `base`. */
export function organizationMaskOf(chosen: Partial<OrganizationAccess>, base: Mask = 0): Mask {
  return organizationPermissionNames.reduce((mask, name) => {
    if (chosen[name] === undefined) return mask;
    return chosen[name] ? mask | organizationBit(name) : mask & ~organizationBit(name);
  }, base);
}

const readWorkspaces = maskOf({ runs: "read", stateVersions: "read", variables: "read" });

const adminWorkspaces = maskOf({
  settings: "read",
  runs: "apply",
  policyMocks: "read",
  stateVersions: "write",
  variables: "write",
  create: true,
  locking: true,
  delete: true,
  runTasks: true,
  workspaceAdmin: true,
  variableSets: "write",
  policyOverrides: true,
});

const accessByOrganizationPermission: Partial<Record<OrganizationPermission, Mask>> = {
  "manage-projects": allPermissions,
  "manage-workspaces": adminWorkspaces,
  "read-projects": projectLevelMask("read"),
  "read-workspaces": readWorkspaces,
};

/** Can't lock workspaces, start runs or write state. */
const organizationTokenMask =
  (allPermissions & ~maskOf({ runs: "apply", stateVersions: "write", locking: true })) |
  maskOf({ runs: "read", stateVersions: "read" });

export interface OrganizationStanding {
  /** Can know that the organization exists. */
  readonly member: boolean;
  readonly owner: boolean;
  /** Only for its members and site admins; an organization token is an owner, but can't change the owners team. */
  readonly managesOwnersTeam: boolean;
  readonly seesSecretTeams: boolean;
  /** The organization permissions. */
  readonly organization: Mask;
  /** The access to every project and workspace. */
  readonly organizationWideMask: Mask;
  /** What it can give to others: an organization token can grant what it can't use itself. */
  readonly grantableMask: Mask;
}

export interface StandingRow {
  readonly organizationId: string;
  /** The OR over the actor's teams; null if the actor is in none. */
  readonly teamAccess: number | null;
  readonly isMember: number;
  /** Null without an organization, or if it is closed. */
  readonly organizationDisabled: number | null;
  /** Null for any age; 0 if the organization refuses user tokens. */
  readonly userTokenMaxMs: number | null;
}

export const noRestrictions: Pick<StandingRow, "organizationDisabled" | "userTokenMaxMs"> = {
  organizationDisabled: 0,
  userTokenMaxMs: null,
};

/**
 * Throws `not-found` for a disabled organization (except to site admins), and `unauthorized` for a user token, also a site admin's,
 * that the organization refuses. Non-members get neither: to them it does not exist.
 */
export function checkedStandingOf(actor: Actor, row: StandingRow): OrganizationStanding {
  const standing = standingFromGrants(actor, row);
  const isInsider =
    standing.member ||
    (actor.kind === "audit-trails" && actor.auditedOrganizationId === row.organizationId) ||
    (actor.kind === "run" && actor.organizationId === row.organizationId);
  if (isInsider) refuseIfRestricted(actor, row);
  return standing;
}

function refuseIfRestricted(actor: Actor, { organizationDisabled, userTokenMaxMs }: StandingRow): void {
  if (organizationDisabled === 1 && !isSiteAdmin(actor))
    throw new AppError("not-found", "The organization is disabled. Ask a site admin to enable it again.");
  if (actor.kind !== "user" || userTokenMaxMs === null || actor.tokenAgeMs < userTokenMaxMs) return;
  throw new AppError(
    "unauthorized",
    userTokenMaxMs === 0
      ? "The organization refuses users' tokens (user-tokens-enabled is false). Use a token of the organization or of one of its teams."
      : "Your token is older than the organization allows for users' tokens (max-ttl-enabled). Create a new token and use that.",
  );
}

function standingFromGrants(actor: Actor, row: StandingRow): OrganizationStanding {
  if (row.organizationDisabled === null && row.organizationId !== "") return nonMember;
  if (isSiteAdmin(actor)) return ownerStanding(true);
  if (actor.kind === "organization")
    return actor.organizationId === row.organizationId ? organizationTokenStanding : nonMember;
  const access = row.teamAccess ?? 0;
  if ((access & ownersBit) !== 0) return ownerStanding(true);
  const mask = organizationWideMaskOf(access);
  return {
    member: row.isMember !== 0 || row.teamAccess !== null,
    owner: false,
    managesOwnersTeam: false,
    seesSecretTeams: (access & organizationBit("access-secret-teams")) !== 0,
    organization: access,
    organizationWideMask: mask,
    grantableMask: mask,
  };
}

export function organizationWideMaskOf(access: Mask): Mask {
  if ((access & ownersBit) !== 0) return allPermissions;
  let mask = 0;
  for (const name of organizationPermissionNames) {
    if ((access & organizationBit(name)) !== 0) mask |= accessByOrganizationPermission[name] ?? 0;
  }
  return mask;
}

export function hasOrganizationPermission(standing: OrganizationStanding, permission: OrganizationPermission): boolean {
  return (standing.organization & organizationBit(permission)) !== 0;
}

export function missingOrganizationPermissions(
  standing: OrganizationStanding,
  requested: Mask,
): OrganizationPermission[] {
  const missing = requested & ~standing.organization;
  return organizationPermissionNames.filter((name) => (missing & organizationBit(name)) !== 0);
}

function ownerStanding(managesOwnersTeam: boolean): OrganizationStanding {
  return {
    member: true,
    owner: true,
    managesOwnersTeam,
    seesSecretTeams: true,
    organization: allOrganizationBits,
    organizationWideMask: allPermissions,
    grantableMask: allPermissions,
  };
}

const organizationTokenStanding: OrganizationStanding = {
  ...ownerStanding(false),
  organizationWideMask: organizationTokenMask,
};
const nonMember: OrganizationStanding = {
  member: false,
  owner: false,
  managesOwnersTeam: false,
  seesSecretTeams: false,
  organization: 0,
  organizationWideMask: 0,
  grantableMask: 0,
};
