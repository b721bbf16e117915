/**
 * What an actor is in an organization: an owner, a holder of organization-level permissions, a member, or nobody; and what
 * that gives on every project and workspace of it.
 */
import { AppError } from "../kernel/errors.ts";
import { type Actor, isSiteAdmin } from "./actor.ts";
import { projectLevelMask } from "./levels.ts";
import { everything, type Mask, maskOf } from "./permission-set.ts";

/**
 * The permissions that a team can hold on the whole organization, each with its bit in `teams.organization_access`.
 * Append only: the numbers are in the database. Bit 0 is held by the owners team alone.
 */
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

/** What the owners team is stored with. */
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

/** The stored form; a permission that is left out keeps its value in `base`. */
export function organizationMaskOf(chosen: Partial<OrganizationAccess>, base: Mask = 0): Mask {
  return organizationPermissionNames.reduce((mask, name) => {
    if (chosen[name] === undefined) return mask;
    return chosen[name] ? mask | organizationBit(name) : mask & ~organizationBit(name);
  }, base);
}

/** Reading the workspaces, without the project around them. */
const readWorkspaces = maskOf({ runs: "read", stateVersions: "read", variables: "read" });

/** Workspace admin without the rights over the project that holds it; all that a project's maintainers have. */
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

/** What each organization-level permission gives on every project and workspace; those not named give nothing there. */
const everywhere: Partial<Record<OrganizationPermission, Mask>> = {
  "manage-projects": everything,
  "manage-workspaces": adminWorkspaces,
  "read-projects": projectLevelMask("read"),
  "read-workspaces": readWorkspaces,
};

/** An organization token owns, but does not operate: no locks, no runs, no state of its own making. */
const organizationTokenMask =
  (everything & ~maskOf({ runs: "apply", stateVersions: "write", locking: true })) |
  maskOf({ runs: "read", stateVersions: "read" });

/** What an actor is in one organization. */
export interface Standing {
  /** May know that the organization exists. */
  readonly member: boolean;
  /** Holds everything. */
  readonly owner: boolean;
  /** The owners team, in person or by its own token, or a site admin: the only ones who touch the owners team itself. */
  readonly ownerInPerson: boolean;
  /** May know of teams whose visibility is secret without being in them. */
  readonly seesSecretTeams: boolean;
  /** Organization-level permissions held, as stored. */
  readonly organization: Mask;
  /** Held on every project and workspace. */
  readonly everywhere: Mask;
  /** May be handed to others on every project and workspace: an organization token grants what it can't use. */
  readonly grantable: Mask;
}

/** What the register knows of an actor in an organization; one row, from one statement. */
export interface StandingRow {
  readonly organizationId: string;
  /** The organization-level permissions of all the actor's teams there, added up; null when the actor is in none. */
  readonly teamAccess: number | null;
  /** 1 when the actor has an active membership. */
  readonly isMember: number;
  /** 1 when a site admin disabled the organization; null where the row belongs to none. */
  readonly organizationDisabled: number | null;
  /** How old a user's token may be to be taken here: null for any age, 0 where users' tokens are not taken at all. */
  readonly userTokenMaxMs: number | null;
}

/** The facts of an organization that closes itself to nobody. */
export const open: Pick<StandingRow, "organizationDisabled" | "userTokenMaxMs"> = {
  organizationDisabled: 0,
  userTokenMaxMs: null,
};

/**
 * Raises `not-found` for everybody but site admins where the organization is disabled, and `unauthorized` for a user's token,
 * also a site admin's, where it does not take that. To a stranger the organization is not there, whatever it refuses.
 */
export function standingOf(actor: Actor, row: StandingRow): Standing {
  const standing = standingByRights(actor, row);
  const knowsOfIt =
    standing.member ||
    (actor.kind === "audit-trails" && actor.auditedId === row.organizationId) ||
    (actor.kind === "run" && actor.organizationId === row.organizationId);
  if (knowsOfIt) refuseClosed(actor, row);
  return standing;
}

function refuseClosed(actor: Actor, { organizationDisabled, userTokenMaxMs }: StandingRow): void {
  if (organizationDisabled === 1 && !isSiteAdmin(actor))
    throw new AppError("not-found", "The organization is disabled. Ask a site admin to enable it again.");
  if (actor.kind !== "user" || userTokenMaxMs === null || actor.tokenAgeMs < userTokenMaxMs) return;
  throw new AppError(
    "unauthorized",
    userTokenMaxMs === 0
      ? "The organization refuses users' tokens (user-tokens-enabled is false). Use a token of the organization or of one of its teams."
      : "Your token is older than the organization allows for users' tokens (max-ttl-enabled). Make a new one and use that.",
  );
}

function standingByRights(actor: Actor, row: StandingRow): Standing {
  if (isSiteAdmin(actor)) return ownerStanding(true);
  if (actor.kind === "organization")
    return actor.organizationId === row.organizationId ? organizationTokenStanding : stranger;
  const access = row.teamAccess ?? 0;
  if ((access & ownersBit) !== 0) return ownerStanding(true);
  const held = everywhereOf(access);
  return {
    member: row.isMember !== 0 || row.teamAccess !== null,
    owner: false,
    ownerInPerson: false,
    seesSecretTeams: (access & organizationBit("access-secret-teams")) !== 0,
    organization: access,
    everywhere: held,
    grantable: held,
  };
}

/** What organization-level permissions give on every project and workspace. */
export function everywhereOf(access: Mask): Mask {
  if ((access & ownersBit) !== 0) return everything;
  let mask = 0;
  for (const name of organizationPermissionNames) {
    if ((access & organizationBit(name)) !== 0) mask |= everywhere[name] ?? 0;
  }
  return mask;
}

export function holdsOrganization(standing: Standing, permission: OrganizationPermission): boolean {
  return (standing.organization & organizationBit(permission)) !== 0;
}

/** Which of the wanted organization-level permissions the caller does not hold. */
export function missingOrganizationPermissions(standing: Standing, wanted: Mask): OrganizationPermission[] {
  const missing = wanted & ~standing.organization;
  return organizationPermissionNames.filter((name) => (missing & organizationBit(name)) !== 0);
}

function ownerStanding(inPerson: boolean): Standing {
  return {
    member: true,
    owner: true,
    ownerInPerson: inPerson,
    seesSecretTeams: true,
    organization: allOrganizationBits,
    everywhere: everything,
    grantable: everything,
  };
}

const organizationTokenStanding: Standing = { ...ownerStanding(false), everywhere: organizationTokenMask };
const stranger: Standing = {
  member: false,
  owner: false,
  ownerInPerson: false,
  seesSecretTeams: false,
  organization: 0,
  everywhere: 0,
  grantable: 0,
};
