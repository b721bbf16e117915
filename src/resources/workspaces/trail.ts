/** What a change of a workspace leaves in the audit trail: its attributes, and the things that it is put under. */
import type { Tx } from "../../database/database.ts";
import { auditedAttributes } from "../../jsonapi/document.ts";
import { recordEvent } from "../audit-events/writes.ts";
import type { Context } from "../shared/context.ts";
import { workspaces } from "./definition.ts";
import { agentPoolOf, type WorkspaceView } from "./view.ts";

export async function recordWorkspaceChange(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  { before, after }: { readonly before?: WorkspaceView; readonly after?: WorkspaceView },
): Promise<void> {
  const subject = after ?? before;
  if (subject === undefined) return;
  await recordEvent(tx, context, {
    organizationId: subject.organizationId,
    verb: before === undefined ? "create" : after === undefined ? "delete" : "update",
    subject: { type: workspaces.type, id: subject.id },
    before: before && toldOf(before),
    after: after && toldOf(after),
  });
}

function toldOf(workspace: WorkspaceView): object {
  return {
    ...auditedAttributes(workspaces, workspace),
    project: workspace.projectId,
    "agent-pool": agentPoolOf(workspace),
    "ssh-key": workspace.sshKeyId,
  };
}
