/** Decides who can read a plan's full JSON, which shows variables and outputs in clear text. */
import type { Actor } from "./actor.ts";
import { type WorkspaceFacts, workspacePermissions } from "./permissions/workspace.ts";

/** Organization tokens have no access to runs. */
export function canReadFullPlan(actor: Actor, facts: WorkspaceFacts): boolean {
  return actor.kind !== "organization" && workspacePermissions(facts)["can-update"];
}
