/** Operations on the site's agent pools: load → authorize → decide → write. */
import { changedColumns } from "../../../jsonapi/columns.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { requireSiteAdmin } from "../../shared/administration.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import { updateOf } from "../../shared/changes.ts";
import { implement } from "../../shared/context.ts";
import { siteAgentPools, type SiteAgentPoolView } from "./definition.ts";
import { loadSiteAgentPool } from "./reads.ts";
import {
  deleteSiteAgentPoolRow,
  findSiteAgentPoolNamed,
  listSiteAgentPoolRows,
  updateSiteAgentPoolRow,
} from "./store.ts";
import { addSiteAgentPool, nameTaken } from "./writes.ts";

export const siteAgentPoolResource = implement(siteAgentPools, {
  async listSiteAgentPools({ context, query }) {
    requireSiteAdmin(context.actor);
    return listSiteAgentPoolRows(context.database.reader, query.page, query.q);
  },

  async createSiteAgentPool({ context, body }) {
    return context.database.write(async (tx) => ({
      view: await addSiteAgentPool(tx, context, body.attributes.name),
    }));
  },

  async showSiteAgentPool({ context, params }) {
    return { view: await loadSiteAgentPool(context.database.reader, context, params.siteAgentPoolId) };
  },

  async updateSiteAgentPool({ context, params, body }) {
    return context.database.write(async (tx) => {
      const pool = await loadSiteAgentPool(tx, context, params.siteAgentPoolId, true);
      context.ifMatch.check(pool);
      const { changes, changed } = updateOf<SiteAgentPoolView>(pool, changedColumns(siteAgentPools, body.attributes));
      if (changes === undefined) return { view: pool };
      const isTaken =
        changed.nameKey !== pool.nameKey && (await findSiteAgentPoolNamed(tx, changed.name)) !== undefined;
      throwIfInvalid(isTaken ? [nameTaken] : []);
      await updateSiteAgentPoolRow(tx, pool, changes);
      await recordChange(tx, context, siteAgentPools, { before: pool, after: changed });
      return { view: changed };
    });
  },

  async deleteSiteAgentPool({ context, params }) {
    return context.database.write(async (tx) => {
      const pool = await loadSiteAgentPool(tx, context, params.siteAgentPoolId, true);
      context.ifMatch.check(pool);
      await deleteSiteAgentPoolRow(tx, pool);
      await recordChange(tx, context, siteAgentPools, { before: pool });
    });
  },
});
