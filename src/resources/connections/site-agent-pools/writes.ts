/** Changes to site agent pools by the API, the command line and the server itself. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import { attributeFault, throwIfInvalid } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { withSiteAdminProof, requireSiteAdmin } from "../../shared/administration.ts";
import { recordChange } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { noOffer } from "../agent-pools/rules.ts";
import { offeredColumns, type PoolOffer } from "../agent-pools/writes.ts";
import { siteAgentPools, type SiteAgentPoolView } from "./definition.ts";
import { findSiteAgentPoolNamed, insertSiteAgentPool } from "./store.ts";

export const nameTaken = attributeFault("name", "Name has already been taken");

/** Throws `not-found` if the caller is not a site admin, and `invalid` if the name is taken. */
export async function addSiteAgentPool(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  name: string,
): Promise<Granted<SiteAgentPoolView, "can-administer">> {
  const administration = requireSiteAdmin(context.actor);
  throwIfInvalid((await findSiteAgentPoolNamed(tx, name)) === undefined ? [] : [nameTaken]);
  const identity = { id: newId("agent-pools"), createdAt: now(), version: 1, ...noOffer };
  const row = { ...createdColumns(siteAgentPools, { name }), ...identity };
  await insertSiteAgentPool(tx, administration, row);
  const view: SiteAgentPoolView = { ...row, organizationId: null, agentCount: 0 };
  await recordChange(tx, context, siteAgentPools, { after: view });
  return withSiteAdminProof(administration, view);
}

export async function findOrCreateSitePool(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  name: string,
): Promise<Granted<SiteAgentPoolView, "can-administer">> {
  const administration = requireSiteAdmin(context.actor);
  const found = await findSiteAgentPoolNamed(tx, name);
  return found === undefined ? addSiteAgentPool(tx, context, name) : withSiteAdminProof(administration, found);
}

export async function recordSitePoolOffer(
  tx: Tx,
  { agentPoolId }: Granted<{ readonly agentPoolId: string }, "can-serve">,
  offer: PoolOffer,
): Promise<void> {
  const { changed, isDue } = offeredColumns(tx, offer);
  await tx.db.updateTable("siteAgentPools").set(changed).where("id", "=", agentPoolId).where(isDue).execute();
}
