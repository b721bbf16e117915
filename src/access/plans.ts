/** Who may see a plan as the engine wrote it: it shows variables and outputs in clear. */
import type { Actor } from "./actor.ts";
import { type WorkspaceFacts, workspacePermissions } from "./permissions/workspace.ts";

/** An organization's token has no part in runs. */
export function mayReadWholePlan(actor: Actor, facts: WorkspaceFacts): boolean {
  return actor.kind !== "organization" && workspacePermissions(facts)["can-update"];
}
