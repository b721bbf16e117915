/** Decides what a caller can do to an organization and to what belongs to it. */
import { type Actor, isSiteAdmin } from "../actor.ts";
import { type Access, effectiveAccess } from "../effective.ts";
import { hasOrganizationPermission, type OrganizationStanding } from "../organization.ts";
import { hasPermission } from "../permission-set.ts";

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

/** What each flag needs; flags that are absent need ownership of the organization. */
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

export function organizationPermissions(standing: OrganizationStanding): Record<OrganizationFlag, boolean> {
  const { owner } = standing;
  return {
    "can-update": owner,
    "can-destroy": owner,
    "can-traverse": standing.member,
    "can-create-team": owner || hasOrganizationPermission(standing, "manage-teams"),
    "can-create-project": owner || hasOrganizationPermission(standing, "manage-projects"),
    "can-create-workspace": hasPermission(standing.organizationWideMask, "create", true),
    "can-create-workspace-migration": owner,
    "can-delete-tags": owner || hasOrganizationPermission(standing, "manage-workspaces"),
    "can-enable-stacks": owner,
    "can-manage-auditing": owner,
    "can-manage-memberships": owner || hasOrganizationPermission(standing, "manage-membership"),
    "can-manage-run-tasks": owner || hasOrganizationPermission(standing, "manage-run-tasks"),
    "can-update-api-token": owner,
    "can-update-oauth": owner || hasOrganizationPermission(standing, "manage-vcs-settings"),
    "can-update-agent-pools": owner || hasOrganizationPermission(standing, "manage-agent-pools"),
    "can-update-ssh-keys": owner || hasOrganizationPermission(standing, "manage-vcs-settings"),
    "can-update-sentinel": owner || hasOrganizationPermission(standing, "manage-policies"),
  };
}

export interface VariableSetPermissionInput {
  readonly standing: OrganizationStanding;
  readonly parentProjectId: string | null;
  readonly projectAccess: number | null;
}

/** For the organization's own sets. Callers with this permission can read every project and workspace. */
export function canManageVariableSets(standing: OrganizationStanding): boolean {
  return (
    standing.owner ||
    hasOrganizationPermission(standing, "manage-workspaces") ||
    hasOrganizationPermission(standing, "manage-projects")
  );
}

export function projectSetPermissions({ mask }: Access): Record<"can-read" | "can-manage", boolean> {
  return {
    "can-read": hasPermission(mask, "variableSets", "read"),
    "can-manage": hasPermission(mask, "variableSets", "write"),
  };
}

export function variableSetPermissions(set: VariableSetPermissionInput): Record<"can-read" | "can-manage", boolean> {
  const { standing, parentProjectId, projectAccess } = set;
  if (parentProjectId !== null)
    return projectSetPermissions(effectiveAccess(standing.organizationWideMask, projectAccess));
  return { "can-read": standing.member, "can-manage": canManageVariableSets(standing) };
}

export function variableSetNeeds(parentProjectId: string | null | undefined): string {
  return parentProjectId
    ? "'write' on the variable sets of the project that owns the set"
    : "the organization permission 'manage-workspaces' or 'manage-projects'";
}

export interface TeamPermissionInput {
  readonly isOwners: number;
  readonly visibility: string;
  readonly allowMemberTokenManagement: number;
  readonly includesActor: number;
}

const teamPermissionNames = [
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

/** Only members of the owners team and site admins can change that team, and nobody can delete it. */
export function teamPermissions(
  standing: OrganizationStanding,
  team: TeamPermissionInput,
): Record<TeamPermission, boolean> {
  const isMember = team.includesActor === 1;
  const isManager = team.isOwners
    ? standing.managesOwnersTeam
    : standing.owner || hasOrganizationPermission(standing, "manage-teams");
  return {
    "can-read": standing.member && (team.visibility === "organization" || isMember || standing.seesSecretTeams),
    "can-update": isManager,
    "can-destroy": isManager && !team.isOwners,
    "can-update-membership": team.isOwners
      ? standing.managesOwnersTeam
      : standing.owner || hasOrganizationPermission(standing, "manage-membership"),
    "can-update-organization-access":
      !team.isOwners && (standing.owner || hasOrganizationPermission(standing, "manage-organization-access")),
    "can-update-api-token": isManager || (!team.isOwners && isMember && team.allowMemberTokenManagement === 1),
  };
}

export function canManageToken(
  actor: Actor,
  token: TeamPermissionInput & {
    readonly userId: string | null;
    readonly teamId: string | null;
    readonly standing: OrganizationStanding;
  },
): boolean {
  if (token.userId !== null) return isSiteAdmin(actor) || (actor.kind === "user" && actor.userId === token.userId);
  if (token.teamId === null) return organizationPermissions(token.standing)["can-update-api-token"];
  const permissions = teamPermissions(token.standing, token);
  return permissions["can-read"] && permissions["can-update-api-token"];
}

export function canReadAuditLog(actor: Actor, organizationId: string, standing: OrganizationStanding): boolean {
  if (actor.kind === "audit-trails") return actor.auditedOrganizationId === organizationId;
  return organizationPermissions(standing)["can-manage-auditing"];
}

/** Callers who create workspaces need the ids of OAuth tokens. */
export function canReadConnections(standing: OrganizationStanding): boolean {
  const permissions = organizationPermissions(standing);
  return permissions["can-update-oauth"] || permissions["can-create-workspace"];
}
