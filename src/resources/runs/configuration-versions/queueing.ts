/** The run that an upload queues, and the approval that it gives, by the authority of the uploader: nobody else was given the URL. */
import type { Granted } from "../../../access/granted.ts";
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError, forbidden } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { actorOfToken } from "../../identity/authentication-tokens/reads.ts";
import { grantWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import { createRun } from "../runs/writes.ts";
import type { ArrivingVersion } from "./store.ts";

type Version = Granted<ArrivingVersion, "can-upload">;

/** The creator of a version, with what they may do now. */
export interface Uploader {
  readonly caller: Context;
  readonly workspace: Granted<WorkspaceView, "can-queue-run">;
}

/** Undefined for version control. Raises `forbidden` or `not-found` where the uploader may not send configurations any more. */
export async function loadUploader(
  tx: Tx,
  context: Context,
  { createdById, createdByTokenId, workspaceId }: Version,
): Promise<Uploader | undefined> {
  if (createdById === null) return undefined;
  const actor = await actorOfToken(tx, createdByTokenId ?? "");
  if (actor === undefined)
    throw forbidden(
      "This upload URL was given to a token that has expired or was revoked. Create the configuration version again with a valid token.",
    );
  const caller = { ...context, actor };
  const isReading = tx === context.database.reader;
  const workspace = await loadWorkspace(tx, caller, { workspaceId }, !isReading);
  return { caller, workspace: grantWorkspace(workspace, "can-queue-run") };
}

/** When the archive that has come is approved by that; null where the uploader may only plan. */
export const approvalBy = (uploader: Uploader | undefined): string | null =>
  uploader === undefined || workspacePermissions(uploader.workspace)["can-queue-apply"] ? now() : null;

/** For the trail: the run that was queued, or why none was; nothing where none was wanted. */
export type Queued = { readonly run: string } | { readonly run: null; readonly reason: string } | undefined;

/** The archive is taken in any case: where the workspace takes no runs, there is a reason instead of one. Version control queues its own. */
export async function queueRun(tx: Tx, version: Version, uploader: Uploader | undefined): Promise<Queued> {
  if (version.autoQueueRuns === 0 || uploader === undefined) return undefined;
  const asked = {
    configurationVersionId: version.id,
    source: "tfe-configuration-version",
    triggerReason: "manual",
  } as const;
  try {
    const run = await createRun(tx, uploader.caller, uploader.workspace, asked, uploader.workspace);
    return { run: run.id };
  } catch (error) {
    // It is raised before anything was written.
    if (error instanceof AppError && error.code === "invalid") return { run: null, reason: error.message };
    throw error;
  }
}
