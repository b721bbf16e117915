/** Releases a workspace's lock. The first transaction that locks a row with an expired lease writes its consequences. */
import { authorize, type Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { UnlockPermission } from "../../shared/hooks.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { type LockColumns, unlocked } from "./lock-holder.ts";
import { updateWorkspaceRow } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

/**
 * Makes the state that was written under the lock current, and starts the next queued run. Returns the workspace's columns, which the
 * caller writes. Throws `unavailable` while that state is pending.
 */
export async function prepareUnlock(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, UnlockPermission>,
): Promise<Partial<WorkspaceTable>> {
  const { lockedById } = workspace.expiredLock ?? workspace;
  const state = await context.hooks.states.promoteState(tx, context, workspace, lockedById);
  const nextRunColumns = await context.hooks.runs.startNextRun(tx, context, workspace, state);
  return { ...unlocked, ...state, ...nextRunColumns };
}

/** Discards pending state versions, because their writer no longer holds the lock. The caller has locked the row. */
export async function expireLease<View extends WorkspaceView>(tx: Tx, caller: Context, workspace: View): Promise<View> {
  const { expiredLock } = workspace;
  if (expiredLock === undefined) return workspace;
  // The audit log must not name the caller, who only happened to be first.
  const context: Context = { ...caller, actor: { kind: "operator" } };
  const expired = authorize(workspace, {
    thing: "workspace",
    permission: "lease-ended",
    visible: true,
    allowed: workspace.expiredLock !== undefined,
    needs: "an expired lease",
  });
  await context.hooks.states.discardPending(tx, context, expired);
  const columns = await prepareUnlock(tx, context, expired);
  await updateWorkspaceRow(tx, expired, columns);
  const view: View = { ...afterUpdate<WorkspaceView>(workspace, columns), expiredLock: undefined } as View;
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb: "expire-lock",
    subject: { type: "workspaces", id: workspace.id },
    before: auditedLock(expiredLock),
    after: auditedLock(view),
  });
  return view;
}

export function auditedLock(lock: LockColumns): object {
  return {
    locked: lock.lockedByType !== null,
    "locked-by": lock.lockedById,
    reason: lock.lockedReason,
    "lock-expires-at": lock.lockExpiresAt,
  };
}
