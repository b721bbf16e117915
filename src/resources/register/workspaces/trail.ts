/** What a change of a workspace leaves in the audit trail: its attributes, and the things that it is put under. */
import type { Tx } from "../../../database/database.ts";
import { type Beside, recordChange } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { workspaces } from "./definition.ts";
import { agentPoolOf, type WorkspaceView } from "./view.ts";

export async function recordWorkspaceChange(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  change: { readonly before?: WorkspaceView; readonly after?: WorkspaceView },
  beside: Beside = {},
): Promise<void> {
  const { before, after } = change;
  await recordChange(tx, context, workspaces, change, {
    before: before && { ...placeOf(before), ...beside.before },
    after: after && { ...placeOf(after), ...beside.after },
  });
}

function placeOf(workspace: WorkspaceView): object {
  return { project: workspace.projectId, "agent-pool": agentPoolOf(workspace), "ssh-key": workspace.sshKeyId };
}
