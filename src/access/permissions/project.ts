/** Decides what a caller can do to a project. */
import type { Access } from "../effective.ts";
import { hasPermission, maskOf } from "../permission-set.ts";

export const projectPermissionNames = ["can-read", "can-update", "can-destroy", "can-create-workspace"] as const;
export type ProjectPermission = (typeof projectPermissionNames)[number];

export const projectPermissionNeeds: Record<ProjectPermission, string> = {
  "can-read": "read access to the project's settings",
  "can-update": "'update' on the project's settings",
  "can-destroy": "'delete' on the project's settings",
  "can-create-workspace": "'create' on the project's workspaces",
};

export function projectPermissions({ mask }: Access): Record<ProjectPermission, boolean> {
  return {
    "can-read": hasPermission(mask, "settings", "read"),
    "can-update": hasPermission(mask, "settings", "update"),
    "can-destroy": hasPermission(mask, "settings", "delete"),
    "can-create-workspace": hasPermission(mask, "create", true),
  };
}

/** Checked, but not part of the project's document. */
const projectRights = ["can-move-workspaces", "can-manage-team-access", "can-read-team-access"] as const;
export type ProjectRight = (typeof projectRights)[number];

export const projectRightNeeds: Record<ProjectRight, string> = {
  "can-move-workspaces": "'move' on the project's workspaces",
  "can-manage-team-access": "'manage' on the project's teams",
  "can-read-team-access": "'read' on the project's teams",
};

export function projectRightsOf({ mask }: Access): Record<ProjectRight, boolean> {
  return {
    "can-move-workspaces": hasPermission(mask, "move", true),
    "can-manage-team-access": hasPermission(mask, "teams", "manage"),
    "can-read-team-access": hasPermission(mask, "teams", "read"),
  };
}

/** Moving a workspace by an update needs it on both projects. */
export function isProjectAdmin({ mask }: Access): boolean {
  const admin = maskOf({ settings: "delete", teams: "manage", create: true, move: true });
  return (mask & admin) === admin;
}
