/** Pure rules for runs: validating a request, building a new row, and the column changes of a transition. */
import { type Actor, actorId, actorName } from "../../../access/actor.ts";
import type { RunPhaseTable, RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";
import { createdColumns } from "../../../jsonapi/columns.ts";
import type { CreateAttributes } from "../../../jsonapi/define.ts";
import { attributeFault, type Fault, relationshipFault } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import { agentPoolOf, executionModeOf, type WorkspaceView } from "../../register/workspaces/view.ts";
import { unlocked } from "../../register/workspaces/lock-holder.ts";
import type { RunColumns } from "../../register/workspaces/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { Ingress } from "../configuration-versions/ingress.ts";
import { newPhase, columnsForPhaseStatus } from "../phases/rules.ts";
import { runs } from "./definition.ts";
import {
  isFinal,
  type LifecycleEventName,
  type RunStatus,
  timestampNameOf,
  type StatusTransition,
} from "./state-machine.ts";
import { coolOffMs, engineNames, type LoadedRun } from "./view.ts";

export interface RunInput extends CreateAttributes<typeof runs> {
  readonly configurationVersionId?: string | null | undefined;
  readonly source: string;
  readonly triggerReason: "manual" | "vcs" | "run_trigger" | "auto_destroy" | "assessment";
  readonly causedBy?: Pick<RunTable, "id" | "chainLength"> | undefined;
  /** It has no creator, and needs no permission to apply. */
  readonly isAutomatic?: boolean;
}

export interface UsableConfiguration {
  readonly id: string;
  readonly status: string;
  readonly speculative: number;
  readonly ingress: string | null;
  readonly approvedAt: string | null;
}

export function runFaults(
  input: RunInput,
  workspace: WorkspaceView,
  configuration: UsableConfiguration | undefined,
): Fault[] {
  const faults: Fault[] = [];
  if (executionModeOf(workspace) === "local")
    faults.push(
      relationshipFault(
        "workspace",
        "Workspace has the execution mode 'local', so its runs are executed on the machine that starts them. Set its execution-mode to 'remote' or 'agent'",
      ),
    );
  if (input.isDestroy && workspace.allowDestroyPlan === 0)
    faults.push(
      attributeFault(
        "is-destroy",
        "Is destroy can't be true: the workspace does not allow destroy runs. Set its allow-destroy-plan to true first",
      ),
    );
  const planOnly = isPlanOnly(input, configuration);
  if (input.engineVersion !== undefined && !planOnly)
    faults.push(attributeFault("engine-version", "Engine version can only be sent for a plan-only run"));
  return [...faults, ...configurationFaults(input, configuration)];
}

function configurationFaults(input: RunInput, configuration: UsableConfiguration | undefined): Fault[] {
  const fault = (detail: string) => [relationshipFault("configuration-version", detail)];
  if (configuration === undefined)
    return fault(
      input.configurationVersionId
        ? "Configuration version does not exist in this organization"
        : "Configuration version is missing, and the workspace has none yet. Upload one first",
    );
  const isFromVcs = configuration.ingress !== null;
  if (configuration.status !== "uploaded" && !(isFromVcs && configuration.status === "archived"))
    return fault(
      `Configuration version can't be used because it is ${configuration.status}. Only an uploaded configuration version can start runs`,
    );
  if (configuration.speculative === 1 && input.planOnly === false)
    return [
      attributeFault("plan-only", "Plan only must be true, or left out, for a speculative configuration version"),
    ];
  return [];
}

const isPlanOnly = (input: RunInput, configuration: UsableConfiguration | undefined): boolean =>
  input.planOnly ?? configuration?.speculative === 1;

export function operationOf(
  run: Pick<RunInput, "isDestroy" | "refreshOnly" | "savePlan" | "allowEmptyApply" | "invokeActionAddrs">,
  planOnly: boolean,
): string {
  if (planOnly) return "plan_only";
  if (run.isDestroy) return "destroy";
  if (run.refreshOnly) return "refresh_only";
  if (run.savePlan) return "save_plan";
  if (run.invokeActionAddrs?.length) return "action_only";
  return run.allowEmptyApply ? "empty_apply" : "plan_and_apply";
}

export const unsupportedReason = ({ invokeActionAddrs }: Pick<RunInput, "invokeActionAddrs">): string | undefined =>
  invokeActionAddrs?.length
    ? "Invoking actions (invoke-action-addrs, terraform apply -invoke) is not supported yet, so nothing was planned. Start a run without it."
    : undefined;

export const noVersionReason = ({ engine, engineVersion }: Pick<RunTable, "engine" | "engineVersion">): string =>
  `No version of ${engineNames[engine] ?? engine} that is known here or that an agent has meets '${engineVersion}', so nothing was planned. Change the workspace's engine-version, then start another run.`;

interface NewRunFacts {
  readonly id: string;
  readonly workspace: WorkspaceView;
  readonly configuration: UsableConfiguration;
  readonly engineVersion: string;
  readonly mayApply: boolean;
  readonly createdAt: string;
  readonly variables: Uint8Array | null;
  readonly context: Pick<Context, "actor" | "options" | "integration">;
}

export const initialRunColumns = {
  hasChanges: 0,
  inputStateVersionId: null,
  canceledAt: null,
  forceCancelAvailableAt: null,
  forceCanceledAt: null,
  confirmedById: null,
  pinnedVariables: null,
  endedAt: null,
  version: 1,
} as const;

export const engineOf = ({ engine }: Pick<WorkspaceView, "engine">, { options }: Pick<Context, "options">): string =>
  engine ?? options.engine ?? "terraform";

/** The insert statement sets its position. */
export function newRun(input: RunInput, facts: NewRunFacts): RunTable {
  const { id, workspace, configuration, createdAt, context } = facts;
  const planOnly = isPlanOnly(input, configuration);
  const autoApply = (input.autoApply ?? workspace.autoApply === 1) && !planOnly && !input.savePlan && facts.mayApply;
  const executionMode = executionModeOf(workspace);
  return {
    ...initialRunColumns,
    ...createdColumns(runs, input),
    id,
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    position: 0,
    status: "pending",
    statusTimestamps: JSON.stringify({ [timestampNameOf("pending")]: createdAt }),
    operation: operationOf(input, planOnly),
    source: input.source,
    triggerReason: input.triggerReason,
    planOnly: Number(planOnly),
    autoApply: Number(autoApply),
    creatorMayApply: Number(facts.mayApply),
    // The `remote` backend prints log lines unchanged, so it needs plain text.
    structured: Number(workspace.structuredRunOutputEnabled === 1 && context.integration !== "remote"),
    variables: facts.variables,
    engine: engineOf(workspace, context),
    engineVersion: facts.engineVersion,
    executionMode,
    agentPoolId: agentPoolOf(workspace),
    configurationVersionId: configuration.id,
    planId: newId("plans"),
    applyId: newId("applies"),
    ...creatorColumns(input, context.actor),
    causedByRunId: input.causedBy?.id ?? null,
    chainLength: input.causedBy === undefined ? 0 : input.causedBy.chainLength + 1,
    commitSha: commitOf(configuration),
    createdAt,
  };
}

export function toLoadedRun(
  row: RunTable,
  workspace: WorkspaceView,
  configurationApprovedAt: string | null,
): LoadedRun {
  const [plan, apply] = [newPhase("plan", row), newPhase("apply", row)];
  return {
    ...row,
    configurationApprovedAt,
    projectId: workspace.projectId,
    lockedByType: workspace.lockedByType,
    lockedById: workspace.lockedById,
    lockedByName: workspace.lockedByName,
    lockExpiresAt: workspace.lockExpiresAt,
    currentRunId: workspace.currentRunId,
    currentRunStatus: workspace.currentRunStatus,
    currentStateVersionId: workspace.currentStateVersionId,
    currentConfigurationVersionId: workspace.currentConfigurationVersionId,
    planStatus: plan.status,
    planTimestamps: plan.statusTimestamps,
    planAttempt: 0,
    planLogBytes: 0,
    planLogEnded: 0,
    applyStatus: apply.status,
    applyTimestamps: apply.statusTimestamps,
    applyAttempt: 0,
    applyLogBytes: 0,
    applyLogEnded: 0,
  };
}

type RunCreatorColumns = Pick<RunTable, "createdByKind" | "createdById" | "createdByName">;

function creatorColumns(input: RunInput, actor: Actor): RunCreatorColumns {
  if (input.isAutomatic) return { createdByKind: null, createdById: null, createdByName: null };
  return { createdByKind: actor.kind, createdById: actorId(actor), createdByName: actorName(actor) };
}

function commitOf({ ingress }: UsableConfiguration): string | null {
  return ingress === null ? null : ((JSON.parse(ingress) as Partial<Ingress>).commitSha ?? null);
}

export interface TransitionInput {
  readonly event: LifecycleEventName;
  readonly phase?: Partial<RunPhaseTable>;
  readonly hasChanges?: boolean;
  readonly description?: string | null;
  readonly comment?: string | null | undefined;
}

export interface TransitionColumns {
  readonly run: Partial<RunTable>;
  readonly plan: Partial<RunPhaseTable> | undefined;
  readonly apply: Partial<RunPhaseTable> | undefined;
}

export function columnsAfter(
  run: LoadedRun,
  transition: StatusTransition,
  input: TransitionInput,
  actor: Actor,
  at: string,
): TransitionColumns {
  const forced = input.event === "force-cancel";
  const currentPhase = ["pending", "plan_queued", "planning"].includes(run.status) ? "plan" : "apply";
  const phase = (kind: "plan" | "apply"): Partial<RunPhaseTable> | undefined => {
    const status = transition[kind];
    const statusTimestamps = kind === "plan" ? run.planTimestamps : run.applyTimestamps;
    const signal = transition.signal && { signal: transition.signal };
    const phaseColumns = kind === currentPhase ? { ...input.phase, ...signal } : {};
    const changes = {
      ...(status && columnsForPhaseStatus({ statusTimestamps }, status, { at, forced })),
      ...phaseColumns,
    };
    return Object.keys(changes).length === 0 ? undefined : changes;
  };
  return { run: runColumns(run, transition, input, actor, at), plan: phase("plan"), apply: phase("apply") };
}

function runColumns(
  run: LoadedRun,
  { to }: StatusTransition,
  { event, hasChanges }: TransitionInput,
  actor: Actor,
  at: string,
) {
  const status = to.at(-1) ?? (run.status as RunStatus);
  const stamps = Object.fromEntries(to.map((each) => [timestampNameOf(each), at]));
  const forced = event === "force-cancel" ? { "force-canceled-at": at } : {};
  const timestamps = { ...(JSON.parse(run.statusTimestamps) as object), ...stamps, ...forced };
  return {
    status,
    statusTimestamps: JSON.stringify(timestamps),
    ...(event === "claim" && status === "planning" && { inputStateVersionId: run.currentStateVersionId }),
    ...(hasChanges !== undefined && { hasChanges: Number(hasChanges) }),
    ...(event === "apply" && { confirmedById: actorId(actor) }),
    ...(event === "cancel" && {
      canceledAt: at,
      forceCancelAvailableAt: new Date(Date.parse(at) + coolOffMs).toISOString(),
    }),
    ...(event === "force-cancel" && { forceCanceledAt: at }),
    // `writeTransition` keeps the sensitive part, to mask the plan.
    ...(isFinal(status) && { endedAt: at, pinnedVariables: null }),
  } satisfies Partial<RunTable>;
}

type WorkspaceRunStatistics = Pick<
  WorkspaceTable,
  "runsCount" | "runFailures" | "planDurationAverage" | "applyDurationAverage"
>;

/** Counts the latest applied or errored runs. */
export const runStatisticsWindow = 30;

export interface EndedRun {
  readonly status: string;
  readonly planTimestamps: string;
  readonly applyTimestamps: string;
}

export function runStatisticsOf(ended: readonly EndedRun[]): WorkspaceRunStatistics {
  return {
    runsCount: ended.length,
    runFailures: ended.filter(({ status }) => status === "errored").length,
    planDurationAverage: averageOf(ended.map(({ planTimestamps }) => durationOf(planTimestamps))),
    applyDurationAverage: averageOf(ended.map(({ applyTimestamps }) => durationOf(applyTimestamps))),
  };
}

const endTimestamps = ["finished-at", "errored-at", "canceled-at"];

/** In milliseconds; undefined for a phase that was not executed. */
function durationOf(timestamps: string): number | undefined {
  const stamps = JSON.parse(timestamps) as Readonly<Record<string, string>>;
  const start = stamps["started-at"];
  const end = endTimestamps.map((name) => stamps[name]).find((stamp) => stamp !== undefined);
  return start === undefined || end === undefined ? undefined : Date.parse(end) - Date.parse(start);
}

function averageOf(durations: readonly (number | undefined)[]): number {
  const measured = durations.filter((each) => each !== undefined);
  return measured.length === 0 ? 0 : Math.round(measured.reduce((sum, each) => sum + each, 0) / measured.length);
}

export const countsForStatistics = ({ status, planOnly }: Pick<RunTable, "status" | "planOnly">): boolean =>
  planOnly === 0 && (status === "applied" || status === "errored");

export function autoDestroyStatusAfter(
  ended: readonly Pick<RunTable, "status" | "triggerReason">[],
): { readonly autoDestroyStatus: string | null } | undefined {
  const scheduled = ended.filter(({ triggerReason }) => triggerReason === "auto_destroy").at(-1);
  if (scheduled === undefined) return undefined;
  const isDone = scheduled.status === "applied" || scheduled.status === "planned_and_finished";
  return { autoDestroyStatus: isDone ? null : "errored" };
}

/** Without a lease: the lock ends with the run. */
export const lockColumnsOf = (run: Pick<RunTable, "id" | "status" | "createdAt">): RunColumns => ({
  ...currentRunColumns(run),
  ...unlocked,
  lockedByType: "runs",
  lockedById: run.id,
  lockedAt: now(),
});

export const currentRunColumns = (run: Pick<RunTable, "id" | "status" | "createdAt">): RunColumns => ({
  currentRunId: run.id,
  currentRunStatus: run.status,
  currentRunCreatedAt: run.createdAt,
});
