/** Access → every `can-*` that a document shows and a check asks for. No other file decides a permission. */
import { type Actor, isSiteAdmin } from "./actor.ts";
import type { Access } from "./effective.ts";
import { holdsOrganization, type Standing } from "./organization.ts";
import { holds } from "./permission-set.ts";

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

export const organizationPermissionFlags = [
  "can-update",
  "can-destroy",
  "can-traverse",
  "can-create-team",
  "can-create-project",
  "can-create-workspace",
  "can-create-workspace-migration",
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

export const organizationPermissionNeeds: Partial<Record<OrganizationFlag, string>> = {
  "can-update": "ownership of the organization",
  "can-destroy": "ownership of the organization",
  "can-create-team": "the organization permission 'manage-teams'",
  "can-create-project": "the organization permission 'manage-projects'",
  "can-manage-auditing": "ownership of the organization",
  "can-manage-memberships": "the organization permission 'manage-membership'",
  "can-update-api-token": "ownership of the organization",
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
