/** Reads of site agent pools for other modules, and the check of permissions on one. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import type { Context } from "../../shared/context.ts";
import type { SiteAgentPoolView } from "./definition.ts";
import { findSiteAgentPool } from "./store.ts";

/** Raises `not-found`, also for everybody but site admins. */
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
