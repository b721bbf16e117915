/** The run that an upload queues, by the authority of whoever made the version: nobody else was given the URL. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { AppError } from "../../../kernel/errors.ts";
import { grantWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import type { Context } from "../../shared/context.ts";
import { createRun } from "../runs/writes.ts";
import { makerOf } from "./rules.ts";
import type { ArrivingVersion } from "./store.ts";

/** For the trail: the run that was queued, or why none was; nothing where none was wanted. */
export type Queued = { readonly run: string } | { readonly run: null; readonly reason: string } | undefined;

/**
 * The archive is taken in any case: where the maker may not queue runs any more, or the workspace takes none, there is a reason
 * instead of a run. What version control brings, it queues by itself.
 */
export async function queueRun(
  tx: Tx,
  context: Context,
  version: Granted<ArrivingVersion, "can-upload">,
): Promise<Queued> {
  const maker = makerOf(version, version.isSiteAdmin > 0);
  if (version.autoQueueRuns === 0 || maker === undefined) return undefined;
  const caller = { ...context, actor: maker };
  try {
    const workspace = await loadWorkspace(tx, caller, { workspaceId: version.workspaceId }, true);
    const asked = {
      configurationVersionId: version.id,
      source: "tfe-configuration-version",
      triggerReason: "manual",
    } as const;
    const run = await createRun(tx, caller, workspace, asked, grantWorkspace(workspace, "can-queue-run"));
    return { run: run.id };
  } catch (error) {
    // Each of these is raised before anything was written.
    if (error instanceof AppError && refusals.includes(error.code)) return { run: null, reason: error.message };
    throw error;
  }
}

const refusals: readonly string[] = ["not-found", "forbidden", "invalid"];
