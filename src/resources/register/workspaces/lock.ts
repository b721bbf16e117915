/** Locks, renews and unlocks workspaces. Each operation locks the row first: of concurrent callers, exactly one gets the lock. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { DocumentAnswer } from "../../../jsonapi/define.ts";
import { attributeFault, conflict, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { ConditionalContext, Context } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { lockHolderOf, holdsLock, type LeaseInput, leaseOf, lockHolderName } from "./lock-holder.ts";
import { authorizeWorkspace, loadWorkspace } from "./reads.ts";
import { prepareUnlock, auditedLock } from "./release.ts";
import { lockHolderExists, lookUpReferences, updateWorkspaceRow, type WorkspaceReference } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

export interface LockInput {
  readonly reason: string;
  readonly lease: LeaseInput;
}

/** Throws `conflict` if the workspace is already locked. */
export async function lock(
  context: Context,
  reference: WorkspaceReference,
  { reason, lease }: LockInput,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "change"), "can-lock", "hide");
    const holder = lockHolderOf(context.actor);
    if (holder === undefined) throw notFound("workspace");
    if (workspace.lockedByType !== null) throw conflict("Unable to lock workspace. The workspace is already locked.");
    const lockedAt = now();
    const leaseColumns = leaseOf(lease, lockedAt);
    return changeLock(tx, context, workspace, "lock", { ...holder, lockedReason: reason, lockedAt, ...leaseColumns });
  });
}

/** Repeats the previous duration by default. Throws `conflict` for a lock without a lease, and for any caller except the holder. */
export async function renewLock(
  context: Context,
  reference: WorkspaceReference,
  { seconds, expiresAt }: LeaseInput,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "change"), "can-lock", "hide");
    const { lockedByType, lockLeaseSeconds } = workspace;
    if (lockedByType === null)
      throw conflict("Unable to renew the lock. The workspace is not locked, or its lease has expired. Lock it again.");
    if (!holdsLock(context.actor, workspace))
      throw conflict(
        `Unable to renew the lock. The workspace is locked by ${lockHolderName(workspace)}. Only the lock holder can renew the lock.`,
      );
    if (lockLeaseSeconds === null)
      throw conflict("Unable to renew the lock. The lock has no lease and stays until the workspace is unlocked.");
    return changeLock(
      tx,
      context,
      workspace,
      "renew-lock",
      leaseOf({ seconds: seconds ?? lockLeaseSeconds, expiresAt }, now()),
    );
  });
}

/** Throws `conflict` unless the caller holds the lock, and `unavailable` while the state version written under it is pending. */
export async function unlock(context: Context, reference: WorkspaceReference): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "change"), "can-unlock", "hide");
    if (workspace.lockedByType === null)
      throw conflict("Unable to unlock workspace. The workspace is already unlocked.");
    if (workspace.lockedByType === "runs" || !holdsLock(context.actor, workspace))
      throw conflict(
        `Unable to unlock workspace. The workspace is locked by ${lockHolderName(workspace)} and may not be unlocked except by them.${await deletedHolderHint(tx, workspace)}`,
      );
    return release(tx, context, workspace, "unlock");
  });
}

/** A lock outlives the user or team that holds it. */
async function deletedHolderHint(tx: Tx, workspace: WorkspaceView): Promise<string> {
  if (await lockHolderExists(tx, workspace)) return "";
  const kind = workspace.lockedByType === "teams" ? "team" : "user";
  return ` This ${kind} no longer exists. Ask someone with admin access to the workspace to force-unlock it.`;
}

/** Discards pending state versions. Throws `conflict` for an unlocked workspace and for the lock of an unfinished run. */
export async function forceUnlock(
  context: Context,
  reference: WorkspaceReference,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(
      await loadWorkspace(tx, context, reference, "change"),
      "can-force-unlock",
      "hide",
    );
    if (workspace.lockedByType === null)
      throw conflict("Unable to unlock workspace. The workspace is already unlocked.");
    if (await isLockedByUnfinishedRun(tx, context, workspace))
      throw conflict(
        `Unable to unlock workspace. The workspace is locked by ${lockHolderName(workspace)}, which has not finished. Cancel or discard the run to unlock the workspace.`,
      );
    await context.hooks.states.discardPending(tx, context, workspace);
    return release(tx, context, workspace, "force-unlock");
  });
}

async function isLockedByUnfinishedRun(tx: Tx, { hooks }: Context, workspace: WorkspaceView): Promise<boolean> {
  if (workspace.lockedByType !== "runs" || workspace.lockedById === null) return false;
  return (await hooks.runs.listUnfinished(tx, workspace)).includes(workspace.lockedById);
}

async function release(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, "can-unlock" | "can-force-unlock">,
  verb: string,
): Promise<DocumentAnswer<WorkspaceView>> {
  return changeLock(tx, context, workspace, verb, await prepareUnlock(tx, context, workspace));
}

type LockPermission = "can-lock" | "can-unlock" | "can-force-unlock";

async function changeLock(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, LockPermission>,
  verb: string,
  columns: Partial<WorkspaceTable>,
): Promise<DocumentAnswer<WorkspaceView>> {
  await updateWorkspaceRow(tx, workspace, columns);
  const view = afterUpdate<WorkspaceView>(workspace, columns);
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb,
    subject: { type: "workspaces", id: workspace.id },
    before: auditedLock(workspace),
    after: auditedLock(view),
  });
  return { view };
}

/** Throws `invalid` for a key that is not in the organization. */
export async function assignSshKey(
  context: ConditionalContext,
  reference: WorkspaceReference,
  sshKeyId: string | null,
): Promise<DocumentAnswer<WorkspaceView>> {
  return context.database.write(async (tx) => {
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, reference, "change"), "can-update");
    context.ifMatch.check(workspace);
    if (sshKeyId === workspace.sshKeyId) return { view: workspace };
    const { sshKey } = await lookUpReferences(tx, workspace.organizationId, { sshKeyId });
    throwIfInvalid(
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
    return { view: afterUpdate<WorkspaceView>(workspace, { sshKeyId }) };
  });
}
