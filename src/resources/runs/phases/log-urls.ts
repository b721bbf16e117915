/** Signed URLs for reading one log with the access of the token that they name. They must never be logged. */
import { nowMs } from "../../../kernel/time.ts";
import { tokenIdOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Context } from "../../shared/context.ts";
import { checkSignedUrl, signUrl } from "../../shared/signed-urls.ts";

export type LogUrlGrant = Granted<{ readonly phaseId: string; readonly tokenId: string }, "has-log-url">;

const dayMs = 24 * 3_600_000;
/** Longer than any phase takes. */
const lifetimeMs = 2 * dayMs;

const signedParts = (phaseId: string, tokenId: string) => ["GET", "logs", phaseId, tokenId];

/** All in the path: clients replace the query. The same for a day, so that unchanged documents stay identical. */
export function logUrl(context: Pick<Context, "actor" | "vault" | "options">, phaseId: string): string {
  const tokenId = tokenIdOf(context.actor) ?? "";
  const expires = String(Math.ceil(nowMs() / dayMs) * dayMs + lifetimeMs);
  const signature = signUrl(context, signedParts(phaseId, tokenId), expires);
  return `${context.options.publicUrl}/api/v2/logs/${phaseId}.${tokenId}.${expires}.${signature}`;
}

export function checkLogUrl(context: Pick<Context, "vault">, logKey: string): LogUrlGrant {
  const [phaseId = "", tokenId = "", expires, signature] = logKey.split(".");
  return checkSignedUrl(
    context,
    signedParts(phaseId, tokenId),
    { expires, signature },
    {
      subject: { phaseId, tokenId },
      permission: "has-log-url",
      thing: "log",
      expired: "This log's URL has expired. Read the plan or apply again, and use its new log-read-url.",
    },
  );
}
