/** Operations on agent pools: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { AgentPoolTable } from "../../../database/schema/connections.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import { pageSizeMax } from "../../../jsonapi/query.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { factsOf, type OrganizationView } from "../../identity/organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { workspaces } from "../../register/workspaces/definition.ts";
import { pageOfWorkspaces } from "../../register/workspaces/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { agentPools, type AgentPoolView } from "./definition.ts";
import { agentPoolsNeed, authorizeAgentPool, loadAgentPool } from "./reads.ts";
import {
  changedScopes,
  deletionObstacle,
  nameTaken,
  newAgentPool,
  noScopes,
  noUsingWorkspaces,
  scopeRows,
  type PoolScopesInput,
  unknownTargetFaults,
} from "./rules.ts";
import {
  deleteAgentPoolRow,
  deleteScopes,
  findTargets,
  insertAgentPool,
  insertScopes,
  isAgentPoolNameTaken,
  listAgentPoolRows,
  updateAgentPoolRow,
  findPoolUse,
  usesAnyPool,
} from "./store.ts";

export const agentPoolResource = implement(agentPools, {
  async listAgentPools({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    // The query's type lacks filters with an underscore in their name; its value has them.
    const filters: Readonly<Record<string, unknown>> = query;
    const { views, totalCount } = await listAgentPoolRows(tx, context.actor, organization, {
      page: query.page,
      sort: query.sort,
      searchText: query.q,
      workspaceName: filters["filterAllowedWorkspacesName"] as string | undefined,
      projectName: filters["filterAllowedProjectsName"] as string | undefined,
    });
    if (!query.include.has("workspaces")) return { views, totalCount };
    return { views, totalCount, included: await workspacesUsing(tx, context, organization, views) };
  },

  async createAgentPool({ context, params, body }) {
    return context.database.write(async (tx) => {
      // The lock prevents concurrent deletion of the workspaces and projects in the body.
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-update-agent-pools",
        agentPoolsNeed,
      );
      const identity = { id: newId("agent-pools"), organizationId: organization.id, createdAt: now() };
      const row = newAgentPool(body.attributes, identity);
      throwIfInvalid([
        ...((await isAgentPoolNameTaken(tx, organization.id, row.name)) ? [nameTaken()] : []),
        ...(await scopeFaults(tx, organization.id, body.relationships)),
      ]);
      const scopes = { ...noScopes, ...changedScopes(noScopes, body.relationships) };
      await insertAgentPool(tx, organization, row, scopeRows(row, scopes));
      const view = {
        ...row,
        ...factsOf(organization),
        standing: organization.standing,
        scopes,
        usingWorkspaces: noUsingWorkspaces,
        agentCount: 0,
      };
      await record(tx, context, { after: view });
      return { view };
    });
  },

  async showAgentPool({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadAgentPool(tx, context, params.agentPoolId);
    const included = await loadIncluded(tx, context, agentPools, [view], query.include, isScopeRelationship);
    if (included === undefined || !query.include.has("workspaces")) return { view, included };
    const organization = await loadOrganization(tx, context, view.organizationName);
    return { view, included: [...(await workspacesUsing(tx, context, organization, [view])), ...included] };
  },

  async updateAgentPool({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = authorizeAgentPool(await loadAgentPool(tx, context, params.agentPoolId, { lock: "exclusive" }));
      context.ifMatch.check(pool);
      const changes = changesOf<AgentPoolTable>(pool, changedColumns(agentPools, body.attributes));
      const scopes = changedScopes(pool.scopes, body.relationships);
      const kinds = Object.keys(scopes);
      if (changes === undefined && kinds.length === 0) return { view: pool };
      const changed = afterUpdate<AgentPoolView>(pool, { ...changes, scopes: { ...pool.scopes, ...scopes } });
      const isNameConflict =
        changed.nameKey !== pool.nameKey && (await isAgentPoolNameTaken(tx, pool.organizationId, changed.name));
      throwIfInvalid([
        ...(isNameConflict ? [nameTaken()] : []),
        ...(await scopeFaults(tx, pool.organizationId, body.relationships)),
      ]);
      await updateAgentPoolRow(tx, pool, changes ?? {});
      await deleteScopes(tx, pool, kinds);
      await insertScopes(tx, pool, scopeRows(pool, scopes));
      await record(tx, context, { before: pool, after: changed });
      return { view: changed };
    });
  },

  async deleteAgentPool({ context, params }) {
    return context.database.write(async (tx) => {
      const pool = authorizeAgentPool(await loadAgentPool(tx, context, params.agentPoolId, { lock: "exclusive" }));
      context.ifMatch.check(pool);
      const obstacle = deletionObstacle(await findPoolUse(tx, pool));
      if (obstacle !== undefined) throw obstacle;
      await deleteAgentPoolRow(tx, pool);
      await record(tx, context, { before: pool });
    });
  },
});

async function scopeFaults(tx: Tx, organizationId: string, sent: PoolScopesInput) {
  const { allowedWorkspaces = [], allowedProjects = [], excludedWorkspaces = [] } = sent;
  const ids = { workspaces: [...allowedWorkspaces, ...excludedWorkspaces], projects: allowedProjects };
  if (ids.workspaces.length + ids.projects.length === 0) return [];
  return unknownTargetFaults(sent, await findTargets(tx, organizationId, ids));
}

async function record(
  tx: Tx,
  context: Context,
  change: { before?: AgentPoolView; after?: AgentPoolView },
): Promise<void> {
  await recordChange(tx, context, agentPools, change, { before: change.before?.scopes, after: change.after?.scopes });
}

const isScopeRelationship = (_: unknown, name: string): boolean => name !== "workspaces";

async function workspacesUsing(
  tx: Tx,
  context: Context,
  organization: OrganizationView,
  pools: readonly AgentPoolView[],
): Promise<IncludedResource[]> {
  const page = { number: 1, size: pageSizeMax };
  const { views } = await pageOfWorkspaces(tx, context, organization, usesAnyPool(tx, pools), page);
  return views.map((view) => ({ definition: workspaces, view }));
}
