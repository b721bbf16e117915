/**
 * The lock of a workspace: the specification's one state machine. The row is locked while it is decided, so that of many
 * callers at once exactly one gets the lock, also across servers.
 */
import type { Actor } from "../../access/actor.ts";
import type { Granted } from "../../access/granted.ts";
import type { Tx } from "../../database/database.ts";
import type { WorkspaceTable } from "../../database/schema/workspaces.ts";
import type { DocumentAnswer, IfMatch } from "../../jsonapi/define.ts";
import { attributeFault, conflict, notFound, refuseIfAny } from "../../kernel/errors.ts";
import { recordEvent } from "../audit-events/writes.ts";
import type { Context } from "../shared/context.ts";
import { checkIfMatch } from "../shared/preconditions.ts";
import { grantWorkspace, loadWorkspace } from "./reads.ts";
import { lookUpReferences, updateWorkspaceRow, type WorkspaceReference } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

type LockColumns = Pick<WorkspaceTable, "lockedByType" | "lockedById" | "lockedByName" | "lockedReason">;

const unlocked: LockColumns = { lockedByType: null, lockedById: null, lockedByName: null, lockedReason: null };

/** Raises `conflict` when it is locked already. */
export async function lock(
  context: Context,
  reference: WorkspaceReference,
  reason: string,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = grantWorkspace(await loadWorkspace(tx, context, reference, true), "can-lock", "hide");
    const holder = holderOf(context.actor);
    if (holder === undefined) throw notFound("workspace");
    if (workspace.lockedByType !== null) throw conflict("Unable to lock workspace. The workspace is already locked.");
    return change(tx, context, workspace, "lock", { ...holder, lockedReason: reason });
  });
}

/** Raises `conflict` when it is not locked, or locked by somebody else. */
export async function unlock(context: Context, reference: WorkspaceReference): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = grantWorkspace(await loadWorkspace(tx, context, reference, true), "can-unlock", "hide");
    if (workspace.lockedByType === null)
      throw conflict("Unable to unlock workspace. The workspace is already unlocked.");
    const holder = holderOf(context.actor);
    if (holder?.lockedByType !== workspace.lockedByType || holder.lockedById !== workspace.lockedById)
      throw conflict(heldByAnother(workspace));
    return change(tx, context, workspace, "unlock", unlocked);
  });
}

/** Raises `conflict` when it is not locked. */
export async function forceUnlock(
  context: Context,
  reference: WorkspaceReference,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = grantWorkspace(await loadWorkspace(tx, context, reference, true), "can-force-unlock", "hide");
    if (workspace.lockedByType === null)
      throw conflict("Unable to unlock workspace. The workspace is already unlocked.");
    return change(tx, context, workspace, "force-unlock", unlocked);
  });
}

/** A lock is held by a person, whichever token is used, or by a team; an organization's token holds none. */
function holderOf(actor: Actor): Omit<LockColumns, "lockedReason"> | undefined {
  if (actor.kind === "user") return { lockedByType: "users", lockedById: actor.userId, lockedByName: actor.name };
  if (actor.kind === "team") return { lockedByType: "teams", lockedById: actor.teamId, lockedByName: actor.name };
  return undefined;
}

/** In words that clients look for. */
function heldByAnother({ lockedByType, lockedByName, lockedById }: LockColumns): string {
  const holder =
    lockedByType === "runs" ? `Run ${lockedById}` : `${lockedByType === "teams" ? "Team" : "User"} ${lockedByName}`;
  return `Unable to unlock workspace. The workspace is locked by ${holder} and may not be unlocked except by them.`;
}

type LockPermission = "can-lock" | "can-unlock" | "can-force-unlock";

async function change(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, LockPermission>,
  verb: string,
  columns: LockColumns,
): Promise<DocumentAnswer<WorkspaceView>> {
  await updateWorkspaceRow(tx, workspace, columns);
  const view = { ...workspace, ...columns, version: workspace.version + 1 };
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb,
    subject: { type: "workspaces", id: workspace.id },
    before: toldOf(workspace),
    after: toldOf(view),
  });
  return { view };
}

function toldOf(workspace: LockColumns): object {
  return { locked: workspace.lockedByType !== null, "locked-by": workspace.lockedById, reason: workspace.lockedReason };
}

/** Assigns a key of the organization, or none. Raises `invalid` for a key that it does not have. */
export async function assignSshKey(
  context: Context,
  reference: WorkspaceReference,
  sshKeyId: string | null,
  ifMatch: IfMatch,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = grantWorkspace(await loadWorkspace(tx, context, reference, true), "can-update");
    checkIfMatch(ifMatch, workspace);
    if (sshKeyId === workspace.sshKeyId) return { view: workspace };
    const { sshKey } = await lookUpReferences(tx, workspace.organizationId, { sshKeyId });
    refuseIfAny(
      sshKeyId !== null && !sshKey ? [attributeFault("id", "Ssh key does not exist in this organization")] : [],
    );
    await updateWorkspaceRow(tx, workspace, { sshKeyId });
    await recordEvent(tx, context, {
      organizationId: workspace.organizationId,
      verb: "assign-ssh-key",
      subject: { type: "workspaces", id: workspace.id },
      before: { "ssh-key": workspace.sshKeyId },
      after: { "ssh-key": sshKeyId },
    });
    return { view: { ...workspace, sshKeyId, version: workspace.version + 1 } };
  });
}
