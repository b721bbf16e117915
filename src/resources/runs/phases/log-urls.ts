/**
 * URLs that let one reader read one log, named by the token that was shown the URL: what that token may read decides at each read. All
 * of it stands in the path, because readers replace the query by their own, and send no token. They are never logged.
 */
import { nowMs } from "../../../kernel/time.ts";
import { tokenIdOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Context } from "../../shared/context.ts";
import { checkSignedUrl, signUrl } from "../../shared/signed-urls.ts";

/** That somebody came with a URL of ours that has not expired, for the log of this phase. */
export type LogRight = Granted<{ readonly phaseId: string; readonly tokenId: string }, "has-log-url">;

const dayMs = 24 * 3_600_000;
/** Longer than any phase takes; on top of what is left of the day. */
const lifeMs = 2 * dayMs;

const readingOf = (phaseId: string, tokenId: string) => ["GET", "logs", phaseId, tokenId];

/** The same for a whole day, so that a document that is read twice is the same. */
export function logUrl(context: Pick<Context, "actor" | "vault" | "options">, phaseId: string): string {
  const tokenId = tokenIdOf(context.actor) ?? "";
  const expires = String(Math.ceil(nowMs() / dayMs) * dayMs + lifeMs);
  const signature = signUrl(context, readingOf(phaseId, tokenId), expires);
  return `${context.options.publicUrl}/api/v2/logs/${phaseId}.${tokenId}.${expires}.${signature}`;
}

/** Raises `not-found` for a URL that we did not make, and `forbidden` for one that has expired. */
export function checkLogUrl(context: Pick<Context, "vault">, logKey: string): LogRight {
  const [phaseId = "", tokenId = "", expires, signature] = logKey.split(".");
  return checkSignedUrl(
    context,
    readingOf(phaseId, tokenId),
    { expires, signature },
    {
      right: { phaseId, tokenId },
      permission: "has-log-url",
      thing: "log",
      expired: "This log's URL has expired. Read the plan or apply again, and use its new log-read-url.",
    },
  );
}
