/** Decides what a caller can do to a workspace and to team access records. */
import type { Access } from "../effective.ts";
import { hasPermission, sharedStateBit } from "../permission-set.ts";

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
const readRuns = "read access to the workspace's runs";

export const workspacePermissionNeeds: Record<WorkspacePermission, string> = {
  "can-read-settings": readRuns,
  "can-read-run": readRuns,
  "can-read-assessment-results": readRuns,
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

export interface WorkspacePermissionInput {
  readonly access: Access;
  readonly owner: boolean;
  readonly allowForceDeleteWorkspaces: number;
}

/** Few results differ, and a page needs those of each of its workspaces several times. */
const cachedPermissions = new Map<number, Readonly<Record<WorkspacePermission, boolean>>>();
const cacheMax = 4096;

export function workspacePermissions(facts: WorkspacePermissionInput): Readonly<Record<WorkspacePermission, boolean>> {
  const { access, owner, allowForceDeleteWorkspaces } = facts;
  const key = access.mask * 4 + Number(owner) * 2 + allowForceDeleteWorkspaces;
  let permissions = cachedPermissions.get(key);
  if (permissions === undefined) {
    if (cachedPermissions.size === cacheMax) cachedPermissions.clear();
    permissions = Object.freeze(computePermissions(facts));
    cachedPermissions.set(key, permissions);
  }
  return permissions;
}

function computePermissions({
  access: { mask },
  owner,
  allowForceDeleteWorkspaces,
}: WorkspacePermissionInput): Record<WorkspacePermission, boolean> {
  const readsRuns = hasPermission(mask, "runs", "read");
  const appliesRuns = hasPermission(mask, "runs", "apply");
  const isAdmin = hasPermission(mask, "workspaceAdmin", true);
  const canLock = hasPermission(mask, "locking", true);
  return {
    "can-update": isAdmin,
    "can-destroy": isAdmin || hasPermission(mask, "delete", true),
    "can-queue-run": hasPermission(mask, "runs", "plan"),
    "can-read-run": readsRuns,
    "can-read-variable": hasPermission(mask, "variables", "read"),
    "can-update-variable": hasPermission(mask, "variables", "write"),
    "can-read-state-versions": hasPermission(mask, "stateVersions", "read"),
    "can-read-state-outputs": hasPermission(mask, "stateVersions", "read-outputs"),
    "can-create-state-versions": hasPermission(mask, "stateVersions", "write"),
    "can-queue-apply": appliesRuns,
    "can-lock": canLock,
    "can-unlock": canLock,
    "can-force-unlock": isAdmin,
    "can-read-settings": readsRuns || (mask & sharedStateBit) !== 0,
    "can-manage-tags": isAdmin,
    "can-manage-run-tasks": hasPermission(mask, "runTasks", true),
    "can-force-delete": owner || (isAdmin && allowForceDeleteWorkspaces === 1),
    "can-manage-assessments": isAdmin,
    "can-manage-ephemeral-workspaces": isAdmin,
    "can-read-assessment-results": readsRuns,
    "can-queue-destroy": appliesRuns,
  };
}

/** The project's admins are workspace admins, so they have these rights too. */
const workspaceRights = ["can-manage-team-access", "can-read-team-access"] as const;
export type WorkspaceRight = (typeof workspaceRights)[number];

export function canSeeWorkspace({ mask }: Access): boolean {
  return hasPermission(mask, "runs", "read") || (mask & sharedStateBit) !== 0;
}

export function workspaceRightsOf({ mask }: Access): Record<WorkspaceRight, boolean> {
  const isAdmin = hasPermission(mask, "workspaceAdmin", true);
  return {
    "can-manage-team-access": isAdmin,
    "can-read-team-access": isAdmin || hasPermission(mask, "teams", "read"),
  };
}

export interface TeamRecordPermissionInput {
  readonly canReadTarget: boolean;
  readonly rights: Record<WorkspaceRight, boolean>;
  readonly seesSecretTeams: boolean;
  readonly teamVisibility: string;
  readonly includesActor: number;
}

export function teamRecordPermissions(record: TeamRecordPermissionInput): Record<"can-read" | "can-manage", boolean> {
  const seesTeam = record.teamVisibility === "organization" || record.includesActor === 1 || record.seesSecretTeams;
  return {
    "can-read": record.canReadTarget && (seesTeam || record.rights["can-read-team-access"]),
    "can-manage": record.canReadTarget && record.rights["can-manage-team-access"],
  };
}
