/** Loads plans, applies and logs, and checks the caller's permission on their workspace. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { forbidden, notFound } from "../../../kernel/errors.ts";
import type { LoadMany } from "../../shared/includes.ts";
import { authorizeOnWorkspace } from "../../shared/grants/reads.ts";
import { actorOfToken } from "../../identity/authentication-tokens/reads.ts";
import type { PhaseView } from "./definition.ts";
import type { LogUrlGrant } from "./log-urls.ts";
import type { PhaseKind } from "./rules.ts";
import { type PhaseCaller, findPhase, findPhasesOf, findReadableLog, type LoggedPhase } from "./store.ts";

export const phasesOfRuns =
  (kind: PhaseKind): LoadMany<{ readonly id: string }> =>
  (tx, context, _ids, runsByPhase) => {
    const runIds = [...runsByPhase.values()].map(({ id }) => id);
    return findPhasesOf(tx, context, kind, runIds);
  };

export async function loadPhase(
  tx: Tx,
  context: PhaseCaller,
  kind: PhaseKind,
  by: { readonly id: string } | { readonly runId: string },
): Promise<Granted<PhaseView, "can-read-run">> {
  const phase = await findPhase(tx, context, kind, by);
  if (phase === undefined) throw notFound("runId" in by ? "run" : kind);
  return authorizeOnWorkspace(kind, phase, "can-read-run");
}

export async function loadLog(
  tx: Tx,
  { phaseId, tokenId }: LogUrlGrant,
): Promise<Granted<LoggedPhase, "can-read-run">> {
  const actor = await actorOfToken(tx, tokenId);
  if (actor === undefined)
    throw forbidden(
      "This log's URL was given to a token that has expired or was revoked. Read the plan or apply again with a valid token, and use its new log-read-url.",
    );
  const log = await findReadableLog(tx, actor, phaseId);
  if (log === undefined) throw notFound("log");
  return authorizeOnWorkspace("log", log, "can-read-run");
}
