/** How a plan or an apply is loaded and granted: by what its workspace allows. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import { grantOnWorkspace } from "../../shared/grants/reads.ts";
import { findPhase } from "./store.ts";
import type { PhaseKind, PhaseView } from "./view.ts";

export { findPhasesOf } from "./store.ts";

/** By its own id, or by its run's. Raises `not-found`. */
export async function loadPhase(
  tx: Tx,
  context: Pick<Context, "actor" | "vault" | "options">,
  kind: PhaseKind,
  by: { readonly id: string } | { readonly runId: string },
): Promise<Granted<PhaseView, "can-read-run">> {
  const phase = await findPhase(tx, context, kind, by);
  if (phase === undefined) throw notFound("runId" in by ? "run" : kind);
  return grantOnWorkspace(kind, phase, "can-read-run");
}
