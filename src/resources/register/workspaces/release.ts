/**
 * How a lock comes off a workspace: by whoever may unlock it, or by itself, when its lease has ended. That it has ended is decided
 * by the clock wherever a workspace is loaded; what follows from it is done by whoever holds the row first, here.
 */
import { grant, type Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { ReleasedBy } from "../../shared/hooks.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { type LockColumns, unlocked } from "./holder.ts";
import { updateWorkspaceRow } from "./store.ts";
import type { WorkspaceView } from "./view.ts";

/**
 * What the row holds once nobody holds the lock: the state that was written under it is the current one, and the next run that
 * waits has its turn. Raises `unavailable` while that state is awaited.
 */
export async function released(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceView, ReleasedBy>,
): Promise<Partial<WorkspaceTable>> {
  const { lockedById } = workspace.endedLock ?? workspace;
  const state = await context.hooks.states.settle(tx, context, workspace, lockedById);
  const turn = await context.hooks.runs.workspaceUnlocked(tx, context, workspace, state);
  return { ...unlocked, ...state, ...turn };
}

/**
 * Takes a lock whose lease has ended off a workspace that is held, as an unlock by force would: what is still awaited is given up,
 * for whoever was to send it has no lock any more. A workspace without such a lock stays as it is.
 */
export async function endLease<View extends WorkspaceView>(tx: Tx, caller: Context, workspace: View): Promise<View> {
  const { endedLock } = workspace;
  if (endedLock === undefined) return workspace;
  // Nobody does this: it happens by itself, whoever comes by first.
  const context: Context = { ...caller, actor: { kind: "operator" } };
  const ended = grant(workspace, {
    thing: "workspace",
    permission: "lease-ended",
    visible: true,
    allowed: workspace.endedLock !== undefined,
    needs: "an ended lease",
  });
  await context.hooks.states.discardPending(tx, context, ended);
  const columns = await released(tx, context, ended);
  await updateWorkspaceRow(tx, ended, columns);
  const view: View = { ...afterUpdate<WorkspaceView>(workspace, columns), endedLock: undefined } as View;
  await recordEvent(tx, context, {
    organizationId: workspace.organizationId,
    verb: "expire-lock",
    subject: { type: "workspaces", id: workspace.id },
    before: toldOf(endedLock),
    after: toldOf(view),
  });
  return view;
}

/** A lock as the trail tells it. */
export function toldOf(lock: LockColumns): object {
  return {
    locked: lock.lockedByType !== null,
    "locked-by": lock.lockedById,
    reason: lock.lockedReason,
    "lock-expires-at": lock.lockExpiresAt,
  };
}
