/** Operations on agent pools: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { AgentPoolTable } from "../../../database/schema/connections.ts";
import { changedColumns } from "../../../jsonapi/columns.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { factsOf } from "../../identity/organizations/definition.ts";
import { grantOrganization, loadOrganization } from "../../identity/organizations/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { agentPools, type AgentPoolView } from "./definition.ts";
import { servedBy, workspacesUsing } from "./includes.ts";
import { agentPoolsNeed, grantAgentPool, loadAgentPool } from "./reads.ts";
import {
  changedScopes,
  deletionObstacle,
  nameTaken,
  newAgentPool,
  noScopes,
  noUsers,
  scopeRows,
  type SentScopes,
  unknownFaults,
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
  useOf,
} from "./store.ts";

export const agentPoolResource = implement(agentPools, {
  async listAgentPools({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    // The types of parameters do not follow an underscore, their values do.
    const filters: Readonly<Record<string, unknown>> = query;
    const { views, totalCount } = await listAgentPoolRows(tx, context.actor, organization, {
      page: query.page,
      sort: query.sort,
      part: query.q,
      workspaceName: filters["filterAllowedWorkspacesName"] as string | undefined,
      projectName: filters["filterAllowedProjectsName"] as string | undefined,
    });
    if (!query.include.has("workspaces")) return { views, totalCount };
    return { views, totalCount, included: await workspacesUsing(tx, context, organization, views) };
  },

  async createAgentPool({ context, params, body }) {
    return context.database.write(async (tx) => {
      // Held, so that nothing that the pool is to serve goes meanwhile.
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName, true),
        "can-update-agent-pools",
        agentPoolsNeed,
      );
      const identity = { id: newId("agent-pools"), organizationId: organization.id, createdAt: now() };
      const row = newAgentPool(body.attributes, identity);
      refuseIfAny([
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
        users: noUsers,
        agentCount: 0,
      };
      await record(tx, context, { after: view });
      return { view };
    });
  },

  async showAgentPool({ context, params, query }) {
    const tx = context.database.reader;
    const view = await loadAgentPool(tx, context, params.agentPoolId);
    if (query.include.size === 0) return { view };
    const served = await servedBy(tx, context, view, query.include);
    if (!query.include.has("workspaces")) return { view, included: served };
    const organization = await loadOrganization(tx, context, view.organizationName);
    const using = await workspacesUsing(tx, context, organization, [view]);
    const shown = new Set(using.map((each) => (each.view as { id: string }).id));
    return { view, included: [...using, ...served.filter((each) => !shown.has((each.view as { id: string }).id))] };
  },

  async updateAgentPool({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = grantAgentPool(await loadAgentPool(tx, context, params.agentPoolId, { lock: "alone" }));
      context.ifMatch.check(pool);
      const changes = changesOf<AgentPoolTable>(pool, changedColumns(agentPools, body.attributes));
      const scopes = changedScopes(pool.scopes, body.relationships);
      const kinds = Object.keys(scopes);
      if (changes === undefined && kinds.length === 0) return { view: pool };
      const changed = afterUpdate<AgentPoolView>(pool, { ...changes, scopes: { ...pool.scopes, ...scopes } });
      const renamed =
        changed.nameKey !== pool.nameKey && (await isAgentPoolNameTaken(tx, pool.organizationId, changed.name));
      refuseIfAny([
        ...(renamed ? [nameTaken()] : []),
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
      const pool = grantAgentPool(await loadAgentPool(tx, context, params.agentPoolId, { lock: "alone" }));
      context.ifMatch.check(pool);
      const obstacle = deletionObstacle(await useOf(tx, pool));
      if (obstacle !== undefined) throw obstacle;
      await deleteAgentPoolRow(tx, pool);
      await record(tx, context, { before: pool });
    });
  },
});

/** What is sent must be in the organization, also where it was there before. */
async function scopeFaults(tx: Tx, organizationId: string, sent: SentScopes) {
  const { allowedWorkspaces = [], allowedProjects = [], excludedWorkspaces = [] } = sent;
  const named = { workspaces: [...allowedWorkspaces, ...excludedWorkspaces], projects: allowedProjects };
  if (named.workspaces.length + named.projects.length === 0) return [];
  return unknownFaults(sent, await findTargets(tx, organizationId, named));
}

/** Whom a pool serves is part of what the trail tells of it. */
async function record(
  tx: Tx,
  context: Context,
  change: { before?: AgentPoolView; after?: AgentPoolView },
): Promise<void> {
  await recordChange(tx, context, agentPools, change, { before: change.before?.scopes, after: change.after?.scopes });
}
