/** The list of what a workspace manages. */
import { implement } from "../../shared/context.ts";
import { loadWorkspace } from "../../register/workspaces/reads.ts";
import { managedResources } from "./definition.ts";
import { pageOfResources } from "./store.ts";

export const managedResourceResource = implement(managedResources, {
  async listWorkspaceResources({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspace(tx, context, params);
    const { currentStateVersionId, resourceCount } = workspace;
    // While a large state is being read some of its rows are there already, but the workspace counts none yet.
    if (currentStateVersionId === null || resourceCount === 0) return { views: [], totalCount: 0 };
    return pageOfResources(tx, currentStateVersionId, resourceCount, query.page);
  },
});
