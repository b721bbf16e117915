/** The list of what a workspace manages. */
import { implement } from "../../shared/context.ts";
import { leaseEndMs, loadSettledWorkspace } from "../../register/workspaces/reads.ts";
import { managedResources } from "./definition.ts";
import { pageOfResources } from "./store.ts";

export const managedResourceResource = implement(managedResources, {
  async listWorkspaceResources({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadSettledWorkspace(context, params);
    // With the end of a lease another state may be the current one.
    const until = leaseEndMs(workspace);
    const { currentStateVersionId, resourceCount } = workspace;
    // While a large state is being read some of its rows are there already, but the workspace counts none yet.
    if (currentStateVersionId === null || resourceCount === 0) return { views: [], totalCount: 0, until };
    return { ...(await pageOfResources(tx, currentStateVersionId, resourceCount, query.page)), until };
  },
});
