/** How a plan or an apply is loaded and granted: by what its workspace allows. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Included } from "../../../jsonapi/define.ts";
import { forbidden, notFound } from "../../../kernel/errors.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { actorOfToken } from "../../identity/authentication-tokens/reads.ts";
import type { LogRight } from "./log-urls.ts";
import { applies, type PhaseView, plans } from "./definition.ts";
import type { PhaseKind } from "./rules.ts";
import { type Caller, findPhase, findPhasesOf, findReadableLog, type LoggedPhase } from "./store.ts";

/** By its own id, or by its run's. Raises `not-found`. */
export async function loadPhase(
  tx: Tx,
  context: Caller,
  kind: PhaseKind,
  by: { readonly id: string } | { readonly runId: string },
): Promise<Granted<PhaseView, "can-read-run">> {
  const phase = await findPhase(tx, context, kind, by);
  if (phase === undefined) throw notFound("runId" in by ? "run" : kind);
  return grantOnWorkspace(kind, phase, "can-read-run");
}

/** Of runs that the caller may read, to be shown beside them. */
export async function phasesBeside(
  tx: Tx,
  context: Caller,
  kind: PhaseKind,
  runIds: readonly string[],
): Promise<Included[]> {
  const definition = kind === "plan" ? plans : applies;
  return (await findPhasesOf(tx, context, kind, runIds)).map((view) => ({ definition, view }));
}

/**
 * The log behind a URL, by what the reader that it names may read now: two statements. Raises `forbidden` for a token that works no
 * more, and what a request of it for the plan or apply would be refused with.
 */
export async function loadLog(tx: Tx, { phaseId, tokenId }: LogRight): Promise<Granted<LoggedPhase, "can-read-run">> {
  const actor = await actorOfToken(tx, tokenId);
  if (actor === undefined)
    throw forbidden(
      "This log's URL was given to a token that has expired or was revoked. Read the plan or apply again with a valid token, and use its new log-read-url.",
    );
  const log = await findReadableLog(tx, actor, phaseId);
  if (log === undefined) throw notFound("log");
  return grantOnWorkspace("log", log, "can-read-run");
}
