/** Pure rules of run triggers: what can follow what, and how far. */
import type { RunTable } from "../../../database/schema/runs.ts";
import { type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { RunInput } from "../runs/rules.ts";
import type { RunTriggerView } from "./definition.ts";

const sourcesMax = 20;
/** Workspaces can follow each other in a circle: a run that was caused through so many others causes none. */
export const chainLengthMax = 20;

/** What is wrong with a source, as far as the two workspaces show. */
export function sourceFaults(
  workspace: Pick<WorkspaceView, "id" | "organizationId">,
  source: WorkspaceView | undefined,
): Fault[] {
  const fault = (detail: string) => [relationshipFault("sourceable", detail)];
  if (source?.id === workspace.id) return fault("Sourceable can't be the workspace itself");
  if (source === undefined || source.organizationId !== workspace.organizationId)
    return fault("Sourceable does not exist in this organization, or you are not allowed to see its runs");
  return [];
}

/** The same as far as those that are there already show. */
export function presentFaults(sourceIds: readonly string[], sourceId: string): Fault[] {
  if (sourceIds.includes(sourceId)) return [relationshipFault("sourceable", "Sourceable has already been taken")];
  if (sourceIds.length < sourcesMax) return [];
  return [
    relationshipFault("sourceable", `Sourceable is one too many: a workspace can have at most ${sourcesMax} sources`),
  ];
}

export function newTrigger(workspace: WorkspaceView, source: WorkspaceView): RunTriggerView {
  return {
    id: newId("run-triggers"),
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    sourceableId: source.id,
    createdAt: now(),
    version: 1,
    workspaceName: workspace.name,
    sourceableName: source.name,
    workspaceFacts: workspace.factsVersion,
    sourceableFacts: source.factsVersion,
  };
}

/**
 * What an apply starts in a workspace that follows. Nobody made it, so that nobody's permission to apply is asked for. Not everybody who
 * reads it may know the source, which it therefore does not name.
 */
export function causedRun(
  cause: Pick<RunTable, "id" | "chainLength">,
  target: Pick<WorkspaceView, "autoApplyRunTrigger">,
): RunInput {
  return {
    message: `Started by the apply of ${cause.id}`,
    source: "tfe-run-trigger",
    triggerReason: "run_trigger",
    causedBy: cause,
    byNobody: true,
    autoApply: target.autoApplyRunTrigger === 1,
  };
}
