/** Changes of state versions when a workspace's lock is released, in the same transaction. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { AppError } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { UnlockPermission, CurrentStateColumns } from "../../shared/hooks.ts";
import type { Granted } from "../../../access/granted.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import { discardVersions } from "./store.ts";

type WorkspaceToUnlock = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/**
 * Makes the lock holder's latest version the current one. Discards versions of other writers, and those that a run wrote before its
 * apply. Throws `unavailable` while the latest is pending.
 */
export async function promoteState(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceToUnlock, UnlockPermission | "run-transition">,
  holderId: string | null,
): Promise<CurrentStateColumns | undefined> {
  const intermediate = await findIntermediate(tx, { workspaceId: workspace.id, holderId: holderId ?? "" });
  if (intermediate.some(({ canBecomeCurrent }) => canBecomeCurrent === 0))
    await recordDiscarded(tx, context, await discardUnusableVersions(tx, workspace, holderId), "finalized");
  const latest = intermediate.find(({ canBecomeCurrent }) => canBecomeCurrent === 1);
  if (latest === undefined) return undefined;
  if (latest.status === "pending")
    throw new AppError(
      "unavailable",
      "Unable to unlock workspace. The workspace's latest state version is still pending: its content has not been uploaded. Try again shortly, or force-unlock the workspace to discard it.",
      { retryAfterSeconds: 1 },
    );
  await tx.db
    .updateTable("stateVersions")
    .set({
      intermediate: 0,
      superseded: sql<number>`case when id = ${latest.id} then 0 else 1 end`,
      ...incrementedVersion,
    })
    .where("workspaceId", "=", workspace.id)
    .where((where) =>
      where.or([where("intermediate", "=", 1), where("id", "=", workspace.currentStateVersionId ?? "")]),
    )
    .execute();
  const { id: currentStateVersionId, resourceCount, outputIds, encrypted: stateEncrypted } = latest;
  return { currentStateVersionId, resourceCount, outputIds, stateEncrypted };
}

interface IntermediateVersion extends Pick<
  StateVersionTable,
  "id" | "status" | "resourceCount" | "outputIds" | "encrypted"
> {
  /** 0 for a version that can't become the current one. */
  readonly canBecomeCurrent: number;
}

/** The condition of the partial index. */
const isIntermediate = sql<boolean>`intermediate = 1`;

const isWrittenBy = (holderId: string) =>
  sql<boolean>`(created_by_id = ${holderId} and (created_by_kind <> 'run' or coalesce(created_by_token_id, '') like 'apply-%'))`;

/** At most two rows: the holder's latest version, and the latest of others. */
const findIntermediate = prepared<{ workspaceId: string; holderId: string }, IntermediateVersion>(
  (db, { workspaceId, holderId }) =>
    db
      .selectFrom((from) =>
        from
          .selectFrom("stateVersions")
          .select(["id", "status", "resourceCount", "outputIds", "encrypted"])
          .select(sql<number>`case when ${isWrittenBy(holderId)} then 1 else 0 end`.as("canBecomeCurrent"))
          .select(
            sql<number>`row_number() over (partition by ${isWrittenBy(holderId)} order by position desc)`.as("rank"),
          )
          .where("workspaceId", "=", workspaceId)
          .where(isIntermediate)
          .as("ranked"),
      )
      .select(["id", "status", "resourceCount", "outputIds", "encrypted", "canBecomeCurrent"])
      .where("rank", "=", 1),
);

const discardUnusableVersions = (
  tx: Tx,
  { id }: Granted<WorkspaceToUnlock, UnlockPermission | "run-transition">,
  holderId: string | null,
) =>
  tx.db
    .updateTable("stateVersions")
    .set({ status: "discarded", uploadExpiresAt: null, intermediate: 0, superseded: 1, ...incrementedVersion })
    .where("workspaceId", "=", id)
    .where(isIntermediate)
    .where(sql<boolean>`not ${isWrittenBy(holderId ?? "")}`)
    .returning(["id", "organizationId"])
    .execute();

export async function discardPending(
  tx: Tx,
  context: Context,
  workspace: Granted<WorkspaceToUnlock, "can-force-unlock" | "lease-ended" | "run-transition">,
): Promise<void> {
  await recordDiscarded(tx, context, await discardVersions(tx, workspace, { workspaceId: workspace.id }));
}

export type DiscardedVersion = Pick<StateVersionTable, "id" | "organizationId">;

export async function recordDiscarded(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  versions: readonly DiscardedVersion[],
  status: "pending" | "finalized" = "pending",
): Promise<void> {
  await recordEvents(
    tx,
    context,
    versions.map(({ id, organizationId }) => ({
      organizationId,
      verb: "discard",
      subject: { type: "state-versions", id },
      before: { status },
      after: { status: "discarded" },
    })),
  );
}
