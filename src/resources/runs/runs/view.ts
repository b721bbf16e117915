/** The loaded forms of a run, and the computed attributes of its document. */
import { nowMs } from "../../../kernel/time.ts";
import type { WorkspacePermissionInput } from "../../../access/permissions/workspace.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import { canExecute } from "../phases/engines.ts";
import {
  isCancelable,
  isConfirmable,
  isDiscardable,
  isForceCancelable,
  type RunFacts,
  type RunStatus,
} from "./state-machine.ts";

export interface LoadedRunColumns extends Pick<
  WorkspaceTable,
  | "projectId"
  | "lockedByType"
  | "lockedById"
  | "lockedByName"
  | "lockExpiresAt"
  | "currentRunId"
  | "currentRunStatus"
  | "currentStateVersionId"
  | "currentConfigurationVersionId"
> {
  readonly planStatus: string;
  readonly planTimestamps: string;
  readonly planAttempt: number;
  readonly planLogBytes: number;
  readonly planLogEnded: number;
  readonly applyStatus: string;
  readonly applyTimestamps: string;
  readonly applyAttempt: number;
  readonly applyLogBytes: number;
  readonly applyLogEnded: number;
}

export interface LoadedRun extends RunTable, LoadedRunColumns {
  readonly configurationApprovedAt: string | null;
}

export interface RunRelatedColumns {
  readonly workspaceName: string;
  readonly agentPoolName: string | null;
  /** From 1 among the organization's queued jobs; 0 if it is not queued. */
  readonly positionInQueue: number;
  /** The columns `engines` and `fetching` of each connected agent that can serve it, with a tab between; one agent per line. */
  readonly offeredEngines: string | null;
  /** Comma-separated. */
  readonly eventIds: string | null;
  readonly commentIds: string | null;
  /** Of the workspace whose apply started it. */
  readonly sourceName: string | null;
  readonly sourceProjectAccess: number | null;
  readonly sourceWorkspaceAccess: number | null;
}

export interface RunView extends LoadedRun, RunRelatedColumns, WorkspacePermissionInput, OrganizationFacts {
  readonly permissions: Readonly<Record<string, boolean>>;
  /** Null also if the caller can't read that workspace's runs. */
  readonly triggeringSourceName: string | null;
  /** Decrypted. */
  readonly shownVariables: readonly { readonly key: string; readonly value: string }[];
}

/** How long an interrupted engine has to stop before a cancel can be forced. */
export const coolOffMs = 15_000;

export function runFactsOf(run: LoadedRun): RunFacts {
  return {
    status: run.status as RunStatus,
    planOnly: run.planOnly === 1,
    savePlan: run.savePlan === 1,
    allowEmptyApply: run.allowEmptyApply === 1,
    autoApply: run.autoApply === 1,
    creatorMayApply: run.creatorMayApply === 1,
    isApproved: run.configurationApprovedAt !== null,
    isCancelRequested: run.canceledAt !== null,
    isCoolOffOver: run.forceCancelAvailableAt !== null && Date.parse(run.forceCancelAvailableAt) <= nowMs(),
    hasChanges: run.hasChanges === 1,
    isWorkspaceUnlocked: run.lockedByType === null,
    isLockHolderDiscardable: false,
  };
}

export function actionsOf(run: RunView): Record<string, boolean> {
  const facts = runFactsOf(run);
  return {
    "is-cancelable": isCancelable(facts),
    "is-confirmable": isConfirmable(run.status),
    "is-discardable": isDiscardable(run.status),
    "is-force-cancelable": isForceCancelable(facts),
  };
}

/** The latest status change; a cancel request does not count. */
export function updatedAtOf({ createdAt, statusTimestamps }: Pick<RunTable, "createdAt" | "statusTimestamps">): string {
  const stamps = Object.values(JSON.parse(statusTimestamps) as Record<string, string>);
  return stamps.reduce((latest, stamp) => (stamp > latest ? stamp : latest), createdAt);
}

export const engineNames: Readonly<Record<string, string>> = { terraform: "Terraform", tofu: "OpenTofu" };

/** Null if it waits for nothing, or for a confirmation that such a run always needs. */
export function waitingForOf(run: RunView): string | null {
  if (run.status === "pending") return waitingForLock(run);
  if (run.status === "planned") return waitingForConfirmation(run);
  if (run.status !== "plan_queued" && run.status !== "apply_queued") return null;
  const agents = (run.offeredEngines ?? "").split("\n").filter((line) => line !== "");
  const connected = agents.filter((line) => !line.endsWith("\texited"));
  const executor =
    run.executionMode === "agent"
      ? `an agent of the pool ${run.agentPoolName ?? run.agentPoolId}`
      : "a worker or a site agent";
  const engine = `${engineNames[run.engine] ?? run.engine} ${run.engineVersion}`;
  const offerIn = (line: string) => {
    const [engines = "{}", fetching = ""] = line.split("\t");
    return canExecute({ engines, fetching }, run.engine, run.engineVersion);
  };
  const offers = connected.map(offerIn);
  const reason = agents.map(offerIn).find((offer) => typeof offer === "string");
  if (connected.length === 0 && reason !== undefined)
    return `Waiting for ${executor} with ${engine}: none is connected, and the last one could not fetch it (${reason}).`;
  if (connected.length === 0) return `Waiting for ${executor} with ${engine}: none is connected.`;
  if (!offers.includes(true) && reason !== undefined)
    return `Waiting for ${executor} with ${engine}: none of them has it, and it can't be fetched (${reason}).`;
  if (!offers.includes(true)) return `Waiting for ${executor} with ${engine}: none of them has it.`;
  return `Waiting for ${executor} with ${engine} to be free.`;
}

function waitingForConfirmation(run: RunView): string | null {
  const isEmpty = run.allowEmptyApply === 1 && run.hasChanges === 0;
  if (run.autoApply === 0 && !isEmpty) return null;
  if (run.configurationApprovedAt === null)
    return `Waiting for confirmation: nobody who can apply has uploaded its configuration ${run.configurationVersionId}, or confirmed a full run of it (not a destroy or refresh-only run, without targets and run variables). Check the plan, then confirm or discard the run.`;
  return isEmpty && run.creatorMayApply === 0
    ? "Waiting for confirmation: the user who started it can't apply. Confirm or discard the run."
    : null;
}

function waitingForLock({ lockedByType, lockedById, lockedByName }: RunView): string {
  if (lockedByType === "runs") return `Waiting for ${lockedById}, which holds the workspace lock.`;
  if (lockedByType === null) return "Waiting to start: the workspace is no longer locked.";
  const holder = `${lockedByType === "teams" ? "the team" : "the user"} ${lockedByName}`;
  return `Waiting for the workspace to be unlocked: ${holder} holds the lock.`;
}
