/** Operations on agent tokens: load → authorize → decide → write. */
import type { Page } from "../../../jsonapi/query.ts";
import { type Context, implement } from "../../shared/context.ts";
import { authorizeAgentPool, loadAgentPool } from "../agent-pools/reads.ts";
import { loadSiteAgentPool } from "../site-agent-pools/reads.ts";
import { agentTokens } from "./definition.ts";
import { toTokenView } from "./rules.ts";
import { listAgentTokenRows, type ManagedPool } from "./store.ts";
import { issueAgentToken } from "./writes.ts";

export const agentTokenResource = implement(agentTokens, {
  async createAgentToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = authorizeAgentPool(await loadAgentPool(tx, context, params.agentPoolId));
      return { view: await issueAgentToken(tx, context, pool, body.data.attributes.description) };
    });
  },

  async listAgentTokens({ context, params, query }) {
    const pool = authorizeAgentPool(await loadAgentPool(context.database.reader, context, params.agentPoolId));
    return list(context, pool, query.page);
  },

  async createSiteAgentToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = await loadSiteAgentPool(tx, context, params.siteAgentPoolId);
      return { view: await issueAgentToken(tx, context, pool, body.data.attributes.description) };
    });
  },

  async listSiteAgentTokens({ context, params, query }) {
    const pool = await loadSiteAgentPool(context.database.reader, context, params.siteAgentPoolId);
    return list(context, pool, query.page);
  },
});

async function list(context: Context, pool: ManagedPool, page: Page) {
  const { rows, totalCount } = await listAgentTokenRows(context.database.reader, pool, page);
  return { views: rows.map(toTokenView), totalCount };
}
