/** Operations on outputs: they are only ever read. */
import { workspacePermissions } from "../../../access/permissions/workspace.ts";
import { AppError, notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { implement } from "../../shared/context.ts";
import { grantStateVersion, isUnread, loadVersionOf } from "../state-versions/reads.ts";
import { grantWorkspace, loadSettledWorkspace } from "../../register/workspaces/reads.ts";
import { leaseEndMs } from "../../register/workspaces/holder.ts";
import { stateVersionOutputs } from "./definition.ts";
import { outputsOfVersions, toOutputView } from "./reads.ts";
import { findOutput, pageOfOutputs } from "./store.ts";

export const stateVersionOutputResource = implement(stateVersionOutputs, {
  /** All at once, however many: engines read this as the whole. */
  async listCurrentOutputs({ context, params }) {
    const tx = context.database.reader;
    const workspace = grantWorkspace(await loadSettledWorkspace(context, params), "can-read-state-outputs");
    // With the end of a lease another state may be the current one.
    const until = leaseEndMs(workspace);
    if (workspace.currentStateVersionId === null) return { views: [], until };
    const views = await outputsOfVersions(tx, context, workspace, [workspace.currentStateVersionId]);
    // None, or so many that they are still being read: an engine would take an empty list for the former.
    if (views.length === 0 && (await isUnread(tx, workspace.currentStateVersionId)))
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
    const version = grantStateVersion(
      await loadVersionOf(tx, context, params.stateVersionId),
      "can-read-state-outputs",
    );
    if (version.status !== "finalized") return { views: [], totalCount: 0 };
    const { rows, totalCount } = await pageOfOutputs(tx, version.organizationId, version.id, query.page);
    // Whoever may fetch the state has the values anyhow, and clients expect them here.
    const showsSensitive = workspacePermissions(version)["can-read-state-versions"];
    return { views: rows.map((row) => toOutputView(context, row, showsSensitive)), totalCount };
  },

  async showStateVersionOutput({ context, params }) {
    const output = await findOutput(context.database.reader, context.actor, params.outputId);
    if (output === undefined) throw notFound("output");
    const granted = grantOnWorkspace("output", output, "can-read-state-outputs");
    return { view: toOutputView(context, granted, true) };
  },
});
