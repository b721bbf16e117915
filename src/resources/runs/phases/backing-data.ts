/** Soft-deletes, restores and deletes the log and JSON output of a finished phase. Queries do not find soft-deleted data. */
import { type AppError, conflict, notFound } from "../../../kernel/errors.ts";
import { authorizeWorkspace, loadWorkspace } from "../../register/workspaces/reads.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { type BackingDataAction, backingDataTransitionsFor } from "../../shared/backing-data.ts";
import { abandonHidden, hideContents, unhideContents } from "../../shared/contents/contents.ts";
import type { Context } from "../../shared/context.ts";
import { logKind } from "./moved-logs.ts";
import { loadPhase } from "./reads.ts";
import type { PhaseView } from "./definition.ts";
import { dataPresent, isFinalPhase, type PhaseKind } from "./rules.ts";
import { deleteLog, updateBackingData } from "./store.ts";

const transitions = backingDataTransitionsFor(dataPresent);

const kindsOf: Readonly<Record<PhaseKind, readonly string[]>> = {
  plan: ["plan", "plan-json", "provider-schemas", "lock-file", "generated-configuration", logKind("plan")],
  apply: ["errored-state", logKind("apply")],
};
const typeOf = { plan: "plans", apply: "applies" } as const;
const contentChanges = { "soft-delete": hideContents, restore: unhideContents, "permanently-delete": abandonHidden };

export async function changeBackingData(
  context: Context,
  kind: PhaseKind,
  id: string,
  action: BackingDataAction,
): Promise<void> {
  if (context.options.edition === "hosted") throw notFound("path");
  await context.database.write(async (tx) => {
    const { workspaceId } = await loadPhase(tx, context, kind, { id });
    const workspace = authorizeWorkspace(await loadWorkspace(tx, context, { workspaceId }, "change"), "can-update");
    // Read again under the lock.
    const phase = await loadPhase(tx, context, kind, { id });
    const obstacle = obstacleTo(action, phase);
    if (obstacle !== undefined) throw obstacle;
    const { to } = transitions[action];
    await updateBackingData(tx, workspace, id, to);
    await contentChanges[action](tx, workspace, { column: "runId", id: phase.runId }, kindsOf[kind]);
    if (action === "permanently-delete") await deleteLog(tx, workspace, id);
    await recordEvent(tx, context, {
      organizationId: phase.organizationId,
      verb: `${action}-backing-data`,
      subject: { type: typeOf[kind], id },
      before: { "backing-data-status": phase.backingDataStatus },
      after: { "backing-data-status": to },
    });
  });
}

function obstacleTo(action: BackingDataAction, phase: PhaseView): AppError | undefined {
  // A plan that needs confirmation can still be applied.
  if (phase.runEndedAt === null || !isFinalPhase(phase.status))
    return conflict(
      `The data of this ${phase.kind} is still needed, because its run has not ended. Wait for the run to end, or discard or cancel it.`,
    );
  const { from, to } = transitions[action];
  if (phase.backingDataStatus === from) return undefined;
  return conflict(
    `Status transition not allowed: the data of this ${phase.kind} is ${phase.backingDataStatus}, and only data that is ${from} can become ${to}.`,
  );
}
