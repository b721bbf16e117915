/** Operations on outputs. */
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { implement } from "../../shared/context.ts";
import { authorizeStateVersion, isVersionUnparsed, loadStateVersionUnchecked } from "../state-versions/reads.ts";
import { authorizeWorkspace, loadWorkspaceAfterLeaseExpiry } from "../../register/workspaces/reads.ts";
import { leaseExpiryMs } from "../../register/workspaces/lock-holder.ts";
import { stateVersionOutputs } from "./definition.ts";
import { outputsOfVersions, toOutputView } from "./reads.ts";
import { findOutput, pageOfOutputs } from "./store.ts";

export const stateVersionOutputResource = implement(stateVersionOutputs, {
  /** Not paged: engines expect all outputs in one response. */
  async listCurrentOutputs({ context, params }) {
    const tx = context.database.reader;
    const workspace = authorizeWorkspace(
      await loadWorkspaceAfterLeaseExpiry(context, params),
      "can-read-state-outputs",
    );
    // The current state can change when the lease of the lock expires.
    const until = leaseExpiryMs(workspace);
    if (workspace.currentStateVersionId === null) return { views: [], until };
    const views = await outputsOfVersions(tx, context, workspace, [workspace.currentStateVersionId]);
    // Engines take an empty list to mean that there are no outputs, although a job may still be processing them.
    if (views.length === 0 && (await isVersionUnparsed(tx, workspace.currentStateVersionId)))
      throw new AppError(
        "unavailable",
        "The outputs of the latest state are still being processed. Try again shortly.",
        {
          retryAfterSeconds: 1,
        },
      );
    return { views, until };
  },

  async listStateVersionOutputs({ context, params, query }) {
    const tx = context.database.reader;
    const version = authorizeStateVersion(
      await loadStateVersionUnchecked(tx, context, params.stateVersionId),
      "can-read-state-outputs",
    );
    if (version.status !== "finalized") return { views: [], totalCount: 0 };
    const { rows, totalCount } = await pageOfOutputs(tx, version.organizationId, version.id, query.page);
    // Callers who can download the state can read the values anyway, and clients expect them here.
    const showsSensitive = workspacePermissions(version)["can-read-state-versions"];
    return { views: rows.map((row) => toOutputView(context, row, showsSensitive)), totalCount };
  },

  async showStateVersionOutput({ context, params }) {
    const output = await findOutput(context.database.reader, context.actor, params.outputId);
    if (output === undefined) throw notFound("output");
    const granted = authorizeOnWorkspace("output", output, "can-read-state-outputs");
    return { view: toOutputView(context, granted, true) };
  },
});
