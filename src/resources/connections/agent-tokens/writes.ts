/** What neighbours have done to agent tokens, and what the trail tells of that. */
import { actorId } from "../../../access/actor.ts";
import { credentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { newId, newToken, tokenHash } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { HeldToken } from "../../shared/hooks.ts";
import { toTokenView } from "./rules.ts";
import {
  deleteAgentTokenRow,
  deleteAgentTokensNamed,
  insertAgentToken,
  lockFreeAgentTokens,
  type ManagedPool,
} from "./store.ts";

export async function revokeAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  token: Granted<HeldToken, "can-update-agent-pools">,
): Promise<void> {
  await deleteAgentTokenRow(tx, token);
  await recordAgentToken(tx, context, { before: token });
}

/** All of a pool with this description: what the server made for itself. */
export async function revokeAgentTokensNamed(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  pool: ManagedPool,
  description: string,
): Promise<void> {
  for (const row of await deleteAgentTokensNamed(tx, pool, description))
    await recordAgentToken(tx, context, { before: toTokenView(row) });
}

/** The only way to its secret is this answer. Raises `forbidden` for a caller whose own token expires, because it never does. */
export async function issueAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  pool: ManagedPool,
  description: string,
): Promise<HeldToken & { readonly secret: string }> {
  const term = credentialTerm(context.actor, { thing: "an agent token", endsAt: null });
  const secret = newToken();
  const ofSite = pool.organizationId === null;
  const row = {
    id: newId("agent-tokens"),
    organizationId: pool.organizationId,
    agentPoolId: ofSite ? null : pool.id,
    siteAgentPoolId: ofSite ? pool.id : null,
    description,
    createdById: actorId(context.actor),
    createdAt: now(),
    lastUsedAt: null,
    version: 1,
  };
  await insertAgentToken(tx, pool, term, { ...row, hash: tokenHash(secret) });
  const view = toTokenView(row);
  await recordAgentToken(tx, context, { after: view });
  return { ...view, secret };
}

/** As of every token: whose it is, and what for. */
async function recordAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  { before, after }: { before?: HeldToken; after?: HeldToken },
): Promise<void> {
  const token = after ?? before;
  if (token === undefined) return;
  const told = (held: HeldToken | undefined) => held && { holder: held.agentPoolId, description: held.description };
  await recordEvent(tx, context, {
    organizationId: token.organizationId,
    verb: before === undefined ? "create" : "delete",
    subject: { type: "authentication-tokens", id: token.id },
    before: told(before),
    after: told(after),
  });
}

/** As of other tokens: off the requests' path, for many at once, never back in time, and passing over what others hold. */
export async function noteAgentTokenUses(tx: Tx, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const id of await lockFreeAgentTokens(tx, [...uses.keys()])) {
    const usedAt = uses.get(id) ?? "";
    await tx.db
      .updateTable("agentTokens")
      .set({ lastUsedAt: usedAt })
      .where("id", "=", id)
      .where((where) => where.or([where("lastUsedAt", "is", null), where("lastUsedAt", "<", usedAt)]))
      .execute();
  }
}
