/** Operations on agent tokens: load → authorize → decide → write. */
import { actorId } from "../../../access/actor.ts";
import { newId, newToken, tokenHash } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { implement } from "../../shared/context.ts";
import { grantAgentPool, loadAgentPool } from "../agent-pools/reads.ts";
import { agentTokens } from "./definition.ts";
import { toTokenView } from "./rules.ts";
import { insertAgentToken, listAgentTokenRows } from "./store.ts";
import { recordAgentToken } from "./writes.ts";

export const agentTokenResource = implement(agentTokens, {
  async createAgentToken({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = grantAgentPool(await loadAgentPool(tx, context, params.agentPoolId));
      const secret = newToken();
      const row = {
        id: newId("agent-tokens"),
        organizationId: pool.organizationId,
        agentPoolId: pool.id,
        description: body.data.attributes.description,
        createdById: actorId(context.actor),
        createdAt: now(),
        lastUsedAt: null,
        version: 1,
      };
      await insertAgentToken(tx, pool, { ...row, siteAgentPoolId: null, hash: tokenHash(secret) });
      const view = toTokenView(row);
      await recordAgentToken(tx, context, { after: view });
      return { view: { ...view, secret } };
    });
  },

  async listAgentTokens({ context, params, query }) {
    const tx = context.database.reader;
    const pool = grantAgentPool(await loadAgentPool(tx, context, params.agentPoolId));
    const { rows, totalCount } = await listAgentTokenRows(tx, pool, query.page);
    return { views: rows.map(toTokenView), totalCount };
  },
});
