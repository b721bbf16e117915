/** What a workspace's lock does to its state versions, inside the lock's own transaction. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { AppError } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { ReleasedBy, SettledState } from "../../shared/neighbours.ts";
import type { Granted } from "../../../access/granted.ts";
import { raised } from "../../shared/versions.ts";
import { discardVersions } from "./store.ts";

type Workspace = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/**
 * The latest version that was written under the lock becomes the current one, and none is intermediate any more. Undefined
 * where none was written. Raises `unavailable` while the latest still waits for its content.
 */
export async function settleState(
  tx: Tx,
  workspace: Granted<Workspace, ReleasedBy | "can-move-run">,
): Promise<SettledState | undefined> {
  const [latest] = await findUnsettled(tx, { workspaceId: workspace.id });
  if (latest === undefined) return undefined;
  if (latest.status === "pending")
    throw new AppError(
      "unavailable",
      "Unable to unlock workspace. The workspace's latest state version is still pending: its content has not arrived. Try again shortly, or force the unlock to give it up.",
      { retryAfterSeconds: 1 },
    );
  await tx.db
    .updateTable("stateVersions")
    .set({
      intermediate: 0,
      superseded: sql<number>`case when id = ${latest.id} then 0 else 1 end`,
      ...raised,
    })
    .where("workspaceId", "=", workspace.id)
    .where((where) =>
      where.or([where("intermediate", "=", 1), where("id", "=", workspace.currentStateVersionId ?? "")]),
    )
    .execute();
  const { id: currentStateVersionId, resourceCount, outputIds, encrypted: stateEncrypted } = latest;
  return { currentStateVersionId, resourceCount, outputIds, stateEncrypted };
}

type Unsettled = Pick<StateVersionTable, "id" | "status" | "resourceCount" | "outputIds" | "encrypted">;

const findUnsettled = prepared<{ workspaceId: string }, Unsettled>((db, { workspaceId }) =>
  db
    .selectFrom("stateVersions")
    .select(["id", "status", "resourceCount", "outputIds", "encrypted"])
    .where("workspaceId", "=", workspaceId)
    .where("intermediate", "=", 1)
    .orderBy("position", "desc")
    .limit(1),
);

/** Versions whose content is still awaited are given up. */
export async function discardPending(
  tx: Tx,
  context: Context,
  workspace: Granted<Workspace, "can-force-unlock" | "lease-ended" | "can-move-run">,
): Promise<void> {
  await recordDiscarded(tx, context, await discardVersions(tx, workspace, { workspaceId: workspace.id }));
}

export type DiscardedVersion = Pick<StateVersionTable, "id" | "organizationId">;

export async function recordDiscarded(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  versions: readonly DiscardedVersion[],
): Promise<void> {
  await recordEvents(
    tx,
    context,
    versions.map(({ id, organizationId }) => ({
      organizationId,
      verb: "discard",
      subject: { type: "state-versions", id },
      before: { status: "pending" },
      after: { status: "discarded" },
    })),
  );
}
