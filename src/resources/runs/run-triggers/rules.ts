/** Pure rules for run triggers: allowed sources, and the length of chains. */
import type { RunTable } from "../../../database/schema/runs.ts";
import { type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { RunInput } from "../runs/rules.ts";
import type { RunTriggerView } from "./definition.ts";

const sourcesMax = 20;
/** Triggers can form a cycle. */
export const chainLengthMax = 20;

export function sourceFaults(
  workspace: Pick<WorkspaceView, "id" | "organizationId">,
  source: WorkspaceView | undefined,
): Fault[] {
  const fault = (detail: string) => [relationshipFault("sourceable", detail)];
  if (source?.id === workspace.id) return fault("Sourceable can't be the workspace itself");
  if (source === undefined || source.organizationId !== workspace.organizationId)
    return fault("Sourceable does not exist in this organization, or you can't read its runs");
  return [];
}

export function existingSourceFaults(sourceIds: readonly string[], sourceId: string): Fault[] {
  if (sourceIds.includes(sourceId)) return [relationshipFault("sourceable", "Sourceable has already been taken")];
  if (sourceIds.length < sourcesMax) return [];
  return [
    relationshipFault("sourceable", `Sourceable can't be added: a workspace can have at most ${sourcesMax} sources`),
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
    workspaceFactsVersion: workspace.factsVersion,
    sourceableFactsVersion: source.factsVersion,
  };
}

/** Must not name the source workspace: readers of the run may have no access to it. */
export function triggeredRunInput(
  cause: Pick<RunTable, "id" | "chainLength">,
  target: Pick<WorkspaceView, "autoApplyRunTrigger">,
): RunInput {
  return {
    message: `Started by the apply of ${cause.id}`,
    source: "tfe-run-trigger",
    triggerReason: "run_trigger",
    causedBy: cause,
    isAutomatic: true,
    autoApply: target.autoApplyRunTrigger === 1,
  };
}
