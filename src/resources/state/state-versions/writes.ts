/** What a workspace's lock does to its state versions, inside the lock's own transaction. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";
import { prepared } from "../../../database/prepared.ts";
import type { StateVersionTable } from "../../../database/schema/state.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { AppError } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { ReleasedBy, SettledState } from "../../shared/hooks.ts";
import type { Granted } from "../../../access/granted.ts";
import { raised } from "../../shared/versions.ts";
import { discardVersions } from "./store.ts";

type Workspace = Pick<WorkspaceTable, "id" | "organizationId" | "currentStateVersionId">;

/**
 * The latest version that the holder of the lock wrote becomes the current one, and none is intermediate any more. What others left
 * behind, or a run wrote before its apply, is discarded. Undefined where the holder wrote none. Raises `unavailable` while the latest
 * still waits for its content.
 */
export async function settleState(
  tx: Tx,
  context: Context,
  workspace: Granted<Workspace, ReleasedBy | "run-transition">,
  holderId: string | null,
): Promise<SettledState | undefined> {
  const found = await findUnsettled(tx, { workspaceId: workspace.id, holderId: holderId ?? "" });
  if (found.some(({ isHolders }) => isHolders === 0))
    await recordDiscarded(tx, context, await discardLeftovers(tx, workspace, holderId), "finalized");
  const latest = found.find(({ isHolders }) => isHolders === 1);
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

interface Unsettled extends Pick<StateVersionTable, "id" | "status" | "resourceCount" | "outputIds" | "encrypted"> {
  /** 0 for one that may not become current. */
  readonly isHolders: number;
}

/** As the index says it, which has these alone. */
const isIntermediate = sql<boolean>`intermediate = 1`;

/** A run writes as the phase that is executed: what its plan left is not its apply's. */
const isWrittenBy = (holderId: string) =>
  sql<boolean>`(created_by_id = ${holderId} and (created_by_kind <> 'run' or coalesce(created_by_token_id, '') like 'apply-%'))`;

/** The latest of the holder, and the latest of others: at most two. */
const findUnsettled = prepared<{ workspaceId: string; holderId: string }, Unsettled>((db, { workspaceId, holderId }) =>
  db
    .selectFrom((from) =>
      from
        .selectFrom("stateVersions")
        .select(["id", "status", "resourceCount", "outputIds", "encrypted"])
        .select(sql<number>`case when ${isWrittenBy(holderId)} then 1 else 0 end`.as("isHolders"))
        .select(
          sql<number>`row_number() over (partition by ${isWrittenBy(holderId)} order by position desc)`.as("place"),
        )
        .where("workspaceId", "=", workspaceId)
        .where(isIntermediate)
        .as("unsettled"),
    )
    .select(["id", "status", "resourceCount", "outputIds", "encrypted", "isHolders"])
    .where("place", "=", 1),
);

const discardLeftovers = (tx: Tx, { id }: Granted<Workspace, ReleasedBy | "run-transition">, holderId: string | null) =>
  tx.db
    .updateTable("stateVersions")
    .set({ status: "discarded", uploadExpiresAt: null, intermediate: 0, superseded: 1, ...raised })
    .where("workspaceId", "=", id)
    .where(isIntermediate)
    .where(sql<boolean>`not ${isWrittenBy(holderId ?? "")}`)
    .returning(["id", "organizationId"])
    .execute();

/** Versions whose content is still awaited are given up. */
export async function discardPending(
  tx: Tx,
  context: Context,
  workspace: Granted<Workspace, "can-force-unlock" | "lease-ended" | "run-transition">,
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
