/** Operations on remote-state consumers. They must not raise the workspace's version: its document only links to the list. */
import type { Tx } from "../../../database/database.ts";
import type { ResourceIdentifier } from "../../../jsonapi/define.ts";
import { type Fault, notFound, throwIfInvalid } from "../../../kernel/errors.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadWorkspace, pageOfWorkspaces } from "../../register/workspaces/reads.ts";
import { remoteStateConsumers } from "./definition.ts";
import {
  authorizeReplacing,
  authorizeSharing,
  selfFaults,
  sharedFaults,
  type SharingWorkspace,
  unknownFaults,
} from "./rules.ts";
import {
  consumersOf,
  deleteConsumers,
  deleteOtherConsumers,
  findSharing,
  insertConsumers,
  lockWithConsumers,
} from "./store.ts";

export const remoteStateConsumerResource = implement(remoteStateConsumers, {
  async listRemoteStateConsumers({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = authorizeSharing(await loadSharing(tx, context, params.workspaceId), "can-read-settings");
    return pageOfWorkspaces(tx, context, workspace.organization, consumersOf(workspace), query.page);
  },

  async replaceRemoteStateConsumers({ context, params, body }) {
    await context.database.write(async (tx) => {
      const workspace = authorizeReplacing(await loadSharing(tx, context, params.workspaceId));
      const ids = await checkConsumers(tx, context, workspace, body, selfFaults(body, workspace));
      const removed = await deleteOtherConsumers(tx, workspace, ids);
      const added = await insertConsumers(tx, workspace, ids);
      await recordConsumerChange(tx, context, workspace, "replace-remote-state-consumers", { removed, added });
    });
  },

  async addRemoteStateConsumers({ context, params, body }) {
    await context.database.write(async (tx) => {
      const workspace = authorizeSharing(await loadSharing(tx, context, params.workspaceId), "can-update");
      const ids = await checkConsumers(tx, context, workspace, body, selfFaults(body, workspace));
      const added = await insertConsumers(tx, workspace, ids);
      await recordConsumerChange(tx, context, workspace, "add-remote-state-consumers", { added });
    });
  },

  async removeRemoteStateConsumers({ context, params, body }) {
    await context.database.write(async (tx) => {
      const workspace = authorizeSharing(await loadSharing(tx, context, params.workspaceId), "can-update");
      const ids = await checkConsumers(tx, context, workspace, body);
      const removed = await deleteConsumers(tx, workspace, ids);
      await recordConsumerChange(tx, context, workspace, "remove-remote-state-consumers", { removed });
    });
  },
});

async function loadSharing(tx: Tx, { actor }: Context, workspaceId: string): Promise<SharingWorkspace> {
  const workspace = await findSharing(tx, actor, workspaceId);
  if (workspace === undefined) throw notFound("workspace");
  return workspace;
}

/** Locks the named workspaces. Throws `precondition-failed`, or `invalid` with all faults. */
async function checkConsumers(
  tx: Tx,
  context: Context,
  workspace: SharingWorkspace,
  body: readonly ResourceIdentifier[],
  otherFaults: readonly Fault[] = [],
): Promise<string[]> {
  const ids = [...new Set(body.map((item) => item.id))];
  const { current, readable } = await lockWithConsumers(tx, context.actor, workspace, ids);
  if (current === undefined) throw notFound("workspace");
  // The row is locked, so the version can't change after the check.
  await context.ifMatch?.checkIfSent(() => loadWorkspace(tx, context, { workspaceId: workspace.id }));
  throwIfInvalid([...sharedFaults(current), ...otherFaults, ...unknownFaults(body, readable)]);
  return ids;
}

interface ConsumerChanges {
  readonly removed?: readonly string[];
  readonly added?: readonly string[];
}

async function recordConsumerChange(
  tx: Tx,
  context: Context,
  workspace: SharingWorkspace,
  verb: string,
  { removed = [], added = [] }: ConsumerChanges,
): Promise<void> {
  if (removed.length + added.length === 0) return;
  await recordEvent(tx, context, {
    organizationId: workspace.organization.id,
    verb,
    subject: { type: "workspaces", id: workspace.id },
    before: { "remote-state-consumers": removed },
    after: { "remote-state-consumers": added },
  });
}
