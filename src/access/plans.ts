/** Decides who can read a plan's full JSON, which shows variables and outputs in clear text. */
import type { Actor } from "./actor.ts";
import { type WorkspacePermissionInput, workspacePermissions } from "./permissions/workspace.ts";

/** Organization tokens have no access to runs. */
export function canReadFullPlan(actor: Actor, facts: WorkspacePermissionInput): boolean {
  return actor.kind !== "organization" && workspacePermissions(facts)["can-update"];
}
