/** Reads of site agent pools for other modules, and the permission check on a pool. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import type { SiteAgentPoolView } from "./definition.ts";
import { findSiteAgentPool } from "./store.ts";

/** Throws `not-found`, also if the caller is not a site admin. */
export async function loadSiteAgentPool(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
  lock = false,
): Promise<Granted<SiteAgentPoolView, "can-administer">> {
  const administration = requireSiteAdmin(context.actor);
  const pool = await findSiteAgentPool(tx, id, lock);
  if (pool === undefined) throw notFound("agent pool");
  return withSiteAdminProof(administration, pool);
}
