/** What authentication asks of tokens: whom a secret stands for. */
import { timingSafeEqual } from "node:crypto";
import type { Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { tokenHash, tokenLengthMax } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { findTokenHolder, type TokenHolder } from "./store.ts";

/** Undefined for a secret that is unknown, expired, too old or revoked: which of these is nobody's business. */
export async function actorOfToken(tx: Tx, secret: string): Promise<Actor | undefined> {
  if (secret.length > tokenLengthMax) return undefined;
  const hash = tokenHash(secret);
  const [holder] = await findTokenHolder(tx, { hash });
  if (holder === undefined || !timingSafeEqual(Buffer.from(holder.hash), Buffer.from(hash))) return undefined;
  if (holder.expiredAt !== null && holder.expiredAt <= now()) return undefined;
  const ageMs = Math.max(0, Date.now() - Date.parse(holder.createdAt));
  if (holder.maxTtlMs !== null && ageMs >= holder.maxTtlMs) return undefined;
  return toActor(holder, ageMs);
}

function toActor({ id, kind, ...holder }: TokenHolder, tokenAgeMs: number): Actor | undefined {
  if (kind === "user" && holder.userId !== null) {
    return {
      kind: "user",
      userId: holder.userId,
      name: holder.username ?? "",
      siteAdmin: holder.isSiteAdmin === 1,
      tokenId: id,
      tokenAgeMs,
    };
  }
  if (holder.organizationId === null) return undefined;
  if (kind === "team" && holder.teamId !== null) {
    return {
      kind: "team",
      teamId: holder.teamId,
      name: holder.teamName ?? "",
      organizationId: holder.organizationId,
      tokenId: id,
    };
  }
  if (kind === "audit-trails")
    return { kind, auditedId: holder.organizationId, name: holder.organizationName ?? "", tokenId: id };
  return {
    kind: "organization",
    organizationId: holder.organizationId,
    name: holder.organizationName ?? "",
    tokenId: id,
  };
}
