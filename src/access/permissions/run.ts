/** Decides what a caller can do to a run. */
import { type Actor, actorId } from "../actor.ts";
import { hasPermission } from "../permission-set.ts";
import { type WorkspacePermissionInput, workspacePermissions } from "./workspace.ts";

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

export interface RunPermissionInput extends WorkspacePermissionInput {
  readonly planOnly: number;
  readonly createdById: string | null;
}

/** A caller who can only plan can still cancel their own plan-only runs. */
export function runPermissions(actor: Actor, run: RunPermissionInput): Record<RunPermission, boolean> {
  const permissions = workspacePermissions(run);
  const isOwnPlan = run.planOnly === 1 && run.createdById !== null && run.createdById === actorId(actor);
  return {
    "can-apply": permissions["can-queue-apply"],
    "can-cancel": permissions["can-queue-apply"] || (isOwnPlan && permissions["can-queue-run"]),
    "can-comment": permissions["can-queue-run"],
    "can-discard": permissions["can-queue-apply"],
    "can-force-execute": permissions["can-queue-apply"],
    // An organization token does not operate runs.
    "can-force-cancel": permissions["can-update"] && permissions["can-queue-run"],
    "can-override-policy-check": hasPermission(run.access.mask, "policyOverrides", true),
  };
}
