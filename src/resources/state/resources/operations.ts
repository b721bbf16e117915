/** Operations on managed resources. */
import { loadOrganization } from "../../identity/organizations/reads.ts";
import { implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { loadWorkspaceAfterLeaseExpiry } from "../../register/workspaces/reads.ts";
import { leaseExpiryMs } from "../../register/workspaces/lock-holder.ts";
import { managedResources } from "./definition.ts";
import { pageOfOrganization, pageOfResources } from "./store.ts";

export const managedResourceResource = implement(managedResources, {
  async listWorkspaceResources({ context, params, query }) {
    const tx = context.database.reader;
    const workspace = await loadWorkspaceAfterLeaseExpiry(context, params);
    // The current state can change when the lease of the lock expires.
    const until = leaseExpiryMs(workspace);
    const { currentStateVersionId, resourceCount } = workspace;
    // While a job processes a large state, some of its rows exist, but the workspace's count is still 0.
    if (currentStateVersionId === null || resourceCount === 0) return { views: [], totalCount: 0, until };
    const { rows, totalCount } = await pageOfResources(tx, currentStateVersionId, resourceCount, query.page);
    return { views: rows.map((row) => ({ ...row, workspaceId: workspace.id })), totalCount, until };
  },

  async listOrganizationResources({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, totalCount } = await pageOfOrganization(tx, context.actor, organization, {
      page: query.page,
      descending: query.sort?.descending ?? false,
      type: query.filterType,
      provider: query.filterProvider,
      module: query.filterModule,
    });
    return { views, totalCount, included: await loadIncluded(tx, context, managedResources, views, query.include) };
  },
});
