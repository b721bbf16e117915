/** Reads of agent tokens for other modules, and the permission check on a token. */
import { authorize, type Granted } from "../../../access/granted.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { AgentPoolToken } from "../../shared/hooks.ts";
import { agentPoolsNeed } from "../agent-pools/reads.ts";
import { toTokenView } from "./rules.ts";
import { findAgentToken } from "./store.ts";

/** Throws `not-found`, also for callers who can't manage the pool. */
export async function loadAgentToken(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
): Promise<Granted<AgentPoolToken, "can-update-agent-pools">> {
  const found = await findAgentToken(tx, context.actor, id);
  if (found === undefined) throw notFound("authentication token");
  return authorize(toTokenView(found.row), {
    thing: "authentication token",
    permission: "can-update-agent-pools",
    visible: found.standing.member,
    allowed: organizationPermissions(found.standing)["can-update-agent-pools"],
    needs: agentPoolsNeed,
    whenDenied: "hide",
  });
}
