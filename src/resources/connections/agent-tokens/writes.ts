/** Changes to agent tokens that other modules request, and their audit events. */
import { actorId } from "../../../access/actor.ts";
import { credentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { newId, newToken, tokenHash } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { AgentPoolToken } from "../../shared/hooks.ts";
import { toTokenView } from "./rules.ts";
import {
  deleteAgentTokenRow,
  deleteAgentTokensNamed,
  insertAgentToken,
  lockAvailableAgentTokens,
  type ManagedPool,
} from "./store.ts";

export async function revokeAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  token: Granted<AgentPoolToken, "can-update-agent-pools">,
): Promise<void> {
  await deleteAgentTokenRow(tx, token);
  await recordAgentToken(tx, context, { before: token });
}

export async function revokeAgentTokensNamed(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  pool: ManagedPool,
  description: string,
): Promise<void> {
  for (const row of await deleteAgentTokensNamed(tx, pool, description))
    await recordAgentToken(tx, context, { before: toTokenView(row) });
}

/** Only this result contains the secret. Throws `forbidden` if the caller's own token expires, because agent tokens never expire. */
export async function issueAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  pool: ManagedPool,
  description: string,
): Promise<AgentPoolToken & { readonly secret: string }> {
  const term = credentialTerm(context.actor, { thing: "an agent token", endsAt: null });
  const secret = newToken();
  const isSitePool = pool.organizationId === null;
  const row = {
    id: newId("agent-tokens"),
    organizationId: pool.organizationId,
    agentPoolId: isSitePool ? null : pool.id,
    siteAgentPoolId: isSitePool ? pool.id : null,
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

async function recordAgentToken(
  tx: Tx,
  context: Pick<Context, "actor" | "requestId">,
  { before, after }: { before?: AgentPoolToken; after?: AgentPoolToken },
): Promise<void> {
  const token = after ?? before;
  if (token === undefined) return;
  const audited = (each: AgentPoolToken | undefined) =>
    each && { holder: each.agentPoolId, description: each.description };
  await recordEvent(tx, context, {
    organizationId: token.organizationId,
    verb: before === undefined ? "create" : "delete",
    subject: { type: "authentication-tokens", id: token.id },
    before: audited(before),
    after: audited(after),
  });
}

/** Runs outside of requests, in batches. Never moves a time back, and skips rows that others have locked. */
export async function recordAgentTokenUses(tx: Tx, uses: ReadonlyMap<string, string>): Promise<void> {
  for (const id of await lockAvailableAgentTokens(tx, [...uses.keys()])) {
    const usedAt = uses.get(id) ?? "";
    await tx.db
      .updateTable("agentTokens")
      .set({ lastUsedAt: usedAt })
      .where("id", "=", id)
      .where((where) => where.or([where("lastUsedAt", "is", null), where("lastUsedAt", "<", usedAt)]))
      .execute();
  }
}
