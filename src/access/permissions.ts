/** Access → every `can-*` that a document shows and a check asks for. No other file decides a permission. */
import { type Actor, actorId, isSiteAdmin } from "./actor.ts";
import { type Access, effective } from "./effective.ts";
import { holdsOrganization, type Standing } from "./organization.ts";
import { holds, maskOf, sharedState } from "./permission-set.ts";

export const projectPermissionNames = ["can-read", "can-update", "can-destroy", "can-create-workspace"] as const;
export type ProjectPermission = (typeof projectPermissionNames)[number];

/** What each needs, in the words that a refusal uses. */
export const projectPermissionNeeds: Record<ProjectPermission, string> = {
  "can-read": "read access to the project's settings",
  "can-update": "'update' on the project's settings",
  "can-destroy": "'delete' on the project's settings",
  "can-create-workspace": "'create' on the project's workspaces",
};

export function projectPermissions({ mask }: Access): Record<ProjectPermission, boolean> {
  return {
    "can-read": holds(mask, "settings", "read"),
    "can-update": holds(mask, "settings", "update"),
    "can-destroy": holds(mask, "settings", "delete"),
    "can-create-workspace": holds(mask, "create", true),
  };
}

/** What may be done to a project beside what its document shows. */
export const projectRights = ["can-move-workspaces", "can-manage-team-access", "can-read-team-access"] as const;
export type ProjectRight = (typeof projectRights)[number];

export const projectRightNeeds: Record<ProjectRight, string> = {
  "can-move-workspaces": "'move' on the project's workspaces",
  "can-manage-team-access": "'manage' on the project's teams",
  "can-read-team-access": "'read' on the project's teams",
};

export function projectRightsOf({ mask }: Access): Record<ProjectRight, boolean> {
  return {
    "can-move-workspaces": holds(mask, "move", true),
    "can-manage-team-access": holds(mask, "teams", "manage"),
    "can-read-team-access": holds(mask, "teams", "read"),
  };
}

/** The admin level as far as it is about the project itself: what moving a workspace by an update needs on both projects. */
export function isProjectAdmin({ mask }: Access): boolean {
  const admin = maskOf({ settings: "delete", teams: "manage", create: true, move: true });
  return (mask & admin) === admin;
}

export const workspacePermissionNames = [
  "can-update",
  "can-destroy",
  "can-queue-run",
  "can-read-run",
  "can-read-variable",
  "can-update-variable",
  "can-read-state-versions",
  "can-read-state-outputs",
  "can-create-state-versions",
  "can-queue-apply",
  "can-lock",
  "can-unlock",
  "can-force-unlock",
  "can-read-settings",
  "can-manage-tags",
  "can-manage-run-tasks",
  "can-force-delete",
  "can-manage-assessments",
  "can-manage-ephemeral-workspaces",
  "can-read-assessment-results",
  "can-queue-destroy",
] as const;
export type WorkspacePermission = (typeof workspacePermissionNames)[number];

const workspaceAdmin = "admin access to the workspace";
const seeing = "read access to the workspace's runs";

/** What each needs, in the words that a refusal uses. */
export const workspacePermissionNeeds: Record<WorkspacePermission, string> = {
  "can-read-settings": seeing,
  "can-read-run": seeing,
  "can-read-assessment-results": seeing,
  "can-queue-run": "'plan' on the workspace's runs",
  "can-queue-apply": "'apply' on the workspace's runs",
  "can-queue-destroy": "'apply' on the workspace's runs",
  "can-read-variable": "'read' on the workspace's variables",
  "can-update-variable": "'write' on the workspace's variables",
  "can-read-state-outputs": "'read-outputs' on the workspace's state versions",
  "can-read-state-versions": "'read' on the workspace's state versions",
  "can-create-state-versions": "'write' on the workspace's state versions",
  "can-lock": "the permission to lock and unlock the workspace",
  "can-unlock": "the permission to lock and unlock the workspace",
  "can-update": workspaceAdmin,
  "can-force-unlock": workspaceAdmin,
  "can-manage-tags": workspaceAdmin,
  "can-manage-assessments": workspaceAdmin,
  "can-manage-ephemeral-workspaces": workspaceAdmin,
  "can-manage-run-tasks": "the permission to manage the workspace's run tasks",
  "can-destroy": "admin access to the workspace, or 'delete' on the project's workspaces",
  "can-force-delete":
    "ownership of the organization, or admin access to the workspace where the organization allows it",
};

export interface WorkspaceFacts {
  readonly access: Access;
  readonly owner: boolean;
  /** Whether the organization lets workspace admins force the deletion of theirs. */
  readonly allowForceDeleteWorkspaces: number;
}

/** There are few different ones, and a page asks for each of its workspaces several times. */
const knownPermissions = new Map<number, Readonly<Record<WorkspacePermission, boolean>>>();
const knownMax = 4096;

export function workspacePermissions(facts: WorkspaceFacts): Readonly<Record<WorkspacePermission, boolean>> {
  const { access, owner, allowForceDeleteWorkspaces } = facts;
  const key = access.mask * 4 + Number(owner) * 2 + allowForceDeleteWorkspaces;
  let known = knownPermissions.get(key);
  if (known === undefined) {
    if (knownPermissions.size === knownMax) knownPermissions.clear();
    known = Object.freeze(decideWorkspace(facts));
    knownPermissions.set(key, known);
  }
  return known;
}

function decideWorkspace({
  access: { mask },
  owner,
  allowForceDeleteWorkspaces,
}: WorkspaceFacts): Record<WorkspacePermission, boolean> {
  const sees = holds(mask, "runs", "read");
  const applies = holds(mask, "runs", "apply");
  const admin = holds(mask, "workspaceAdmin", true);
  const locks = holds(mask, "locking", true);
  return {
    "can-update": admin,
    "can-destroy": admin || holds(mask, "delete", true),
    "can-queue-run": holds(mask, "runs", "plan"),
    "can-read-run": sees,
    "can-read-variable": holds(mask, "variables", "read"),
    "can-update-variable": holds(mask, "variables", "write"),
    "can-read-state-versions": holds(mask, "stateVersions", "read"),
    "can-read-state-outputs": holds(mask, "stateVersions", "read-outputs"),
    "can-create-state-versions": holds(mask, "stateVersions", "write"),
    "can-queue-apply": applies,
    "can-lock": locks,
    "can-unlock": locks,
    "can-force-unlock": admin,
    "can-read-settings": sees || (mask & sharedState) !== 0,
    "can-manage-tags": admin,
    "can-manage-run-tasks": holds(mask, "runTasks", true),
    "can-force-delete": owner || (admin && allowForceDeleteWorkspaces === 1),
    "can-manage-assessments": admin,
    "can-manage-ephemeral-workspaces": admin,
    "can-read-assessment-results": sees,
    "can-queue-destroy": applies,
  };
}

/** What may be done to the team access of a workspace. Its project's admins are workspace admins, so they may too. */
export const workspaceRights = ["can-manage-team-access", "can-read-team-access"] as const;
export type WorkspaceRight = (typeof workspaceRights)[number];

/** What seeing a workspace at all needs. */
export function seesWorkspace({ mask }: Access): boolean {
  return holds(mask, "runs", "read") || (mask & sharedState) !== 0;
}

export function workspaceRightsOf({ mask }: Access): Record<WorkspaceRight, boolean> {
  const admin = holds(mask, "workspaceAdmin", true);
  return {
    "can-manage-team-access": admin,
    "can-read-team-access": admin || holds(mask, "teams", "read"),
  };
}

/** A record of team access as the decision about it needs to see it. */
export interface TeamRecordFacts {
  /** Whether the caller may read the project or workspace that it is about. */
  readonly readsThing: boolean;
  readonly rights: Record<WorkspaceRight, boolean>;
  readonly seesSecretTeams: boolean;
  readonly teamVisibility: string;
  /** 1 when the caller is in the team, or is the team. */
  readonly includesActor: number;
}

/** Members see the records of the teams that they may know of; whoever manages access, or may see all of it, sees all. */
export function teamRecordPermissions(record: TeamRecordFacts): Record<"can-read" | "can-manage", boolean> {
  const seesTeam = record.teamVisibility === "organization" || record.includesActor === 1 || record.seesSecretTeams;
  return {
    "can-read": record.readsThing && (seesTeam || record.rights["can-read-team-access"]),
    "can-manage": record.readsThing && record.rights["can-manage-team-access"],
  };
}

export const organizationPermissionFlags = [
  "can-update",
  "can-destroy",
  "can-traverse",
  "can-create-team",
  "can-create-project",
  "can-create-workspace",
  "can-create-workspace-migration",
  "can-delete-tags",
  "can-enable-stacks",
  "can-manage-auditing",
  "can-manage-memberships",
  "can-manage-run-tasks",
  "can-update-api-token",
  "can-update-oauth",
  "can-update-agent-pools",
  "can-update-ssh-keys",
  "can-update-sentinel",
] as const;
export type OrganizationFlag = (typeof organizationPermissionFlags)[number];

/** Where nothing is said: ownership of the organization. */
export const organizationPermissionNeeds: Partial<Record<OrganizationFlag, string>> = {
  "can-update": "ownership of the organization",
  "can-create-team": "the organization permission 'manage-teams'",
  "can-create-project": "the organization permission 'manage-projects'",
  "can-delete-tags": "the organization permission 'manage-workspaces'",
  "can-manage-auditing": "ownership of the organization",
  "can-manage-memberships": "the organization permission 'manage-membership'",
  "can-update-oauth": "the organization permission 'manage-vcs-settings'",
  "can-update-ssh-keys": "the organization permission 'manage-vcs-settings'",
  "can-update-agent-pools": "the organization permission 'manage-agent-pools'",
};

export function organizationPermissions(standing: Standing): Record<OrganizationFlag, boolean> {
  const { owner } = standing;
  return {
    "can-update": owner,
    "can-destroy": owner,
    "can-traverse": standing.member,
    "can-create-team": owner || holdsOrganization(standing, "manage-teams"),
    "can-create-project": owner || holdsOrganization(standing, "manage-projects"),
    "can-create-workspace": holds(standing.everywhere, "create", true),
    "can-create-workspace-migration": owner,
    "can-delete-tags": owner || holdsOrganization(standing, "manage-workspaces"),
    "can-enable-stacks": owner,
    "can-manage-auditing": owner,
    "can-manage-memberships": owner || holdsOrganization(standing, "manage-membership"),
    "can-manage-run-tasks": owner || holdsOrganization(standing, "manage-run-tasks"),
    "can-update-api-token": owner,
    "can-update-oauth": owner || holdsOrganization(standing, "manage-vcs-settings"),
    "can-update-agent-pools": owner || holdsOrganization(standing, "manage-agent-pools"),
    "can-update-ssh-keys": owner || holdsOrganization(standing, "manage-vcs-settings"),
    "can-update-sentinel": owner || holdsOrganization(standing, "manage-policies"),
  };
}

/** A variable set as the decision about it needs to see it. */
export interface VariableSetFacts {
  readonly standing: Standing;
  /** Null for a set of the organization. */
  readonly parentProjectId: string | null;
  readonly projectAccess: number | null;
}

/** The organization's own sets. Whoever manages these reads every project and every workspace. */
export function managesVariableSets(standing: Standing): boolean {
  return (
    standing.owner || holdsOrganization(standing, "manage-workspaces") || holdsOrganization(standing, "manage-projects")
  );
}

/** The sets that a project owns: by `variable-sets` on it, wherever that comes from. */
export function projectSetPermissions({ mask }: Access): Record<"can-read" | "can-manage", boolean> {
  return { "can-read": holds(mask, "variableSets", "read"), "can-manage": holds(mask, "variableSets", "write") };
}

export function variableSetPermissions(set: VariableSetFacts): Record<"can-read" | "can-manage", boolean> {
  const { standing, parentProjectId, projectAccess } = set;
  if (parentProjectId !== null) return projectSetPermissions(effective(standing.everywhere, projectAccess));
  return { "can-read": standing.member, "can-manage": managesVariableSets(standing) };
}

/** What managing a set needs, in the words that a refusal uses. */
export function variableSetNeeds(parentProjectId: string | null | undefined): string {
  return parentProjectId
    ? "'write' on the variable sets of the project that owns the set"
    : "the organization permission 'manage-workspaces' or 'manage-projects'";
}

/** A team as the decision about it needs to see it. */
export interface TeamFacts {
  readonly isOwners: number;
  readonly visibility: string;
  readonly allowMemberTokenManagement: number;
  /** 1 when the caller is in the team, or is the team. */
  readonly includesActor: number;
}

export const teamPermissionNames = [
  "can-read",
  "can-update",
  "can-destroy",
  "can-update-membership",
  "can-update-organization-access",
  "can-update-api-token",
] as const;
export type TeamPermission = (typeof teamPermissionNames)[number];

export const teamPermissionNeeds: Record<TeamPermission, string> = {
  "can-read": "membership of the team",
  "can-update": "the organization permission 'manage-teams'; the owners team belongs to owners alone",
  "can-destroy": "the organization permission 'manage-teams'; the owners team can't be deleted",
  "can-update-membership": "the organization permission 'manage-membership'; the owners team belongs to owners alone",
  "can-update-organization-access": "the organization permission 'manage-organization-access'",
  "can-update-api-token": "the organization permission 'manage-teams', or membership of a team that allows it",
};

/** Only owners in person touch the owners team, and nobody deletes it. */
export function teamPermissions(standing: Standing, team: TeamFacts): Record<TeamPermission, boolean> {
  const own = team.includesActor === 1;
  const manager = team.isOwners
    ? standing.ownerInPerson
    : standing.owner || holdsOrganization(standing, "manage-teams");
  return {
    "can-read": standing.member && (team.visibility === "organization" || own || standing.seesSecretTeams),
    "can-update": manager,
    "can-destroy": manager && !team.isOwners,
    "can-update-membership": team.isOwners
      ? standing.ownerInPerson
      : standing.owner || holdsOrganization(standing, "manage-membership"),
    "can-update-organization-access":
      !team.isOwners && (standing.owner || holdsOrganization(standing, "manage-organization-access")),
    "can-update-api-token": manager || (!team.isOwners && own && team.allowMemberTokenManagement === 1),
  };
}

/** Whether a caller may see and revoke a token: whoever may manage its holder's tokens. */
export function mayManageToken(
  actor: Actor,
  token: TeamFacts & { readonly userId: string | null; readonly teamId: string | null; readonly standing: Standing },
): boolean {
  if (token.userId !== null) return isSiteAdmin(actor) || (actor.kind === "user" && actor.userId === token.userId);
  if (token.teamId === null) return organizationPermissions(token.standing)["can-update-api-token"];
  const held = teamPermissions(token.standing, token);
  return held["can-read"] && held["can-update-api-token"];
}

/** Whoever manages auditing reads the trail; so does the token that was made for that alone. */
export function mayReadAuditTrail(actor: Actor, organizationId: string, standing: Standing): boolean {
  if (actor.kind === "audit-trails") return actor.auditedId === organizationId;
  return organizationPermissions(standing)["can-manage-auditing"];
}

/** Whoever creates workspaces anywhere needs the ids of tokens; nobody else but those who manage connections sees them. */
export function mayReadConnections(standing: Standing): boolean {
  const held = organizationPermissions(standing);
  return held["can-update-oauth"] || held["can-create-workspace"];
}

export const runPermissionNames = [
  "can-apply",
  "can-cancel",
  "can-comment",
  "can-discard",
  "can-force-execute",
  "can-force-cancel",
  "can-override-policy-check",
] as const;
export type RunPermission = (typeof runPermissionNames)[number];

export const runPermissionNeeds: Record<RunPermission, string> = {
  "can-apply": "'apply' on the workspace's runs",
  "can-cancel": "'apply' on the workspace's runs; for a plan-only run of one's own, 'plan'",
  "can-comment": "'plan' on the workspace's runs",
  "can-discard": "'apply' on the workspace's runs",
  "can-force-execute": "'apply' on the workspace's runs",
  "can-force-cancel": "admin access to the workspace",
  "can-override-policy-check": "the permission to override the workspace's policies",
};

/** A run as the decision about it needs to see it. */
export interface RunAccessFacts extends WorkspaceFacts {
  readonly planOnly: number;
  readonly createdById: string | null;
}

/** Whoever may only plan may still take back an own run that changes nothing. */
export function runPermissions(actor: Actor, run: RunAccessFacts): Record<RunPermission, boolean> {
  const held = workspacePermissions(run);
  const own = run.planOnly === 1 && run.createdById !== null && run.createdById === actorId(actor);
  return {
    "can-apply": held["can-queue-apply"],
    "can-cancel": held["can-queue-apply"] || (own && held["can-queue-run"]),
    "can-comment": held["can-queue-run"],
    "can-discard": held["can-queue-apply"],
    "can-force-execute": held["can-queue-apply"],
    // An organization's token owns, but does not run.
    "can-force-cancel": held["can-update"] && held["can-queue-run"],
    "can-override-policy-check": holds(run.access.mask, "policyOverrides", true),
  };
}
