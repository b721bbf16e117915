/** What people do to a run: confirm it, discard it, cancel it, put it first. Load → authorize → the table decides → write. */
import type { RunPermission } from "../../../access/permissions/run.ts";
import type { Tx } from "../../../database/database.ts";
import { conflict, forbidden, notFound } from "../../../kernel/errors.ts";
import { administered, requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import { movedBy } from "../proofs.ts";
import { isDiscardable, type RunEventName } from "./machine.ts";
import { grantRun, holdRun, loadRunToMove } from "./reads.ts";
import { findRunBeside, findWaitingBefore } from "./store.ts";
import type { RunView } from "./view.ts";
import { advance, forceTurn } from "./writes.ts";

/** An optional word about it. */
export type ActionBody = { readonly comment?: string | null | undefined } | undefined;

/** Raises `not-found` where the caller may not, and `conflict` where the run's status does not allow it. */
export async function act(
  context: Context,
  runId: string,
  event: RunEventName,
  permission: Exclude<RunPermission, "can-override-policy-check">,
  body: ActionBody,
): Promise<void> {
  await context.database.write(async (tx) => {
    const run = grantRun(await holdRun(tx, context, runId), permission);
    await advance(tx, context, movedBy(run, run), { event, comment: body?.comment });
  });
}

/**
 * What holds the workspace, and all that waits before this run, is discarded, and this run is next. Raises `forbidden` for a run
 * that does not wait for another, and `conflict` where what holds the workspace can't be discarded.
 */
export async function forceExecute(context: Context, runId: string, body: ActionBody): Promise<void> {
  await context.database.write(async (tx) => {
    const run = grantRun(await holdRun(tx, context, runId), "can-force-execute");
    const holder = await holderBefore(tx, run);
    const waiting = await findWaitingBefore(tx, run);
    await forceTurn(tx, context, movedBy(run, run), { holder: movedBy(run, holder), waiting, comment: body?.comment });
  });
}

async function holderBefore(tx: Tx, run: RunView) {
  if (run.status !== "pending" || run.lockedByType !== "runs" || run.lockedById === null)
    throw forbidden(
      `The run can't be executed by force: it is ${run.status}, and ${
        run.lockedByType === "runs" ? "a run holds" : "no run holds"
      } the workspace. Only a run that waits for another one can pass it.`,
    );
  const holder = await findRunBeside(tx, run.lockedById);
  if (holder === undefined) throw notFound("run");
  if (!isDiscardable(holder.status))
    throw conflict(
      `The run can't be executed by force: the run ${holder.id}, which holds the workspace, is ${holder.status} and can't be discarded. Wait until it is planned, or cancel it.`,
    );
  return holder;
}

/** A site admin ends a run, without the time that others have to wait. Raises `not-found` in the hosted edition. */
export async function forceCancelAsAdmin(context: Context, runId: string, body: ActionBody): Promise<void> {
  const admin = requireSiteAdmin(context.actor);
  if (context.options.edition === "hosted") throw notFound("path");
  await context.database.write(async (tx) => {
    const found = await loadRunToMove(tx, "by itself", runId);
    const run = movedBy(administered(admin, found), found);
    // What is not executed is canceled at once; what is, as if it had been asked to stop long ago.
    const executed = run.status === "planning" || run.status === "applying";
    if (!executed && !isDiscardable(run.status)) {
      await advance(tx, context, run, { event: "cancel", comment: body?.comment });
      return;
    }
    const asked = run.canceledAt ?? new Date(0).toISOString();
    await advance(
      tx,
      context,
      movedBy(run, { ...run, canceledAt: asked, forceCancelAvailableAt: new Date(0).toISOString() }),
      { event: "force-cancel", comment: body?.comment },
    );
  });
}
