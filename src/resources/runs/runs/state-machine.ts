/** The state machine of runs (docs/architecture.md): status × event → new statuses and effects. Pure. */
import type { PhaseStatus } from "../phases/rules.ts";

/** No run gets `fetching` or `fetching_completed`, which clients know: a commit is fetched before its run is created. */
export const runStatuses = [
  "pending",
  "fetching",
  "fetching_completed",
  "plan_queued",
  "planning",
  "planned",
  "planned_and_finished",
  "planned_and_saved",
  "confirmed",
  "apply_queued",
  "applying",
  "applied",
  "discarded",
  "errored",
  "canceled",
] as const;
export type RunStatus = (typeof runStatuses)[number];

/** A run in a final status never changes again and holds no lock. */
export const finalStatuses = ["applied", "planned_and_finished", "discarded", "errored", "canceled"] as const;
export const isFinal = (status: string): boolean => (finalStatuses as readonly string[]).includes(status);

/** A pending run can be discarded too, but clients do not offer it. */
export const discardableStatuses = ["planned", "planned_and_saved"] as const;
export const isDiscardable = (status: string): boolean => (discardableStatuses as readonly string[]).includes(status);
export const isConfirmable = isDiscardable;

const cancelableStatuses = ["pending", "plan_queued", "planning", "confirmed", "apply_queued", "applying"] as const;
export const isCancelable = (facts: Pick<RunFacts, "status" | "isCancelRequested">): boolean =>
  !facts.isCancelRequested && (cancelableStatuses as readonly string[]).includes(facts.status);

export const isForceCancelable = (facts: Pick<RunFacts, "status" | "isCancelRequested" | "isCoolOffOver">): boolean =>
  facts.isCancelRequested && facts.isCoolOffOver && !isFinal(facts.status);

/** The audit log stores these names as verbs, so they must not change. */
export const lifecycleEventNames = [
  // by the service
  "admit",
  "refuse",
  "stale",
  // by an agent, or by the service for a lost one
  "phase-returned",
  // by an agent
  "claim",
  "phase-finished",
  "phase-errored",
  // by a user
  "apply",
  "discard",
  "cancel",
  "force-cancel",
  "force-execute",
] as const;
export type LifecycleEventName = (typeof lifecycleEventNames)[number];

export interface RunFacts {
  readonly status: RunStatus;
  readonly planOnly: boolean;
  readonly savePlan: boolean;
  readonly allowEmptyApply: boolean;
  readonly autoApply: boolean;
  readonly creatorMayApply: boolean;
  /** Somebody with permission to apply has approved its configuration. */
  readonly isApproved: boolean;
  readonly isCancelRequested: boolean;
  /** The engine had enough time to stop, so a cancel can be forced. */
  readonly isCoolOffOver: boolean;
  readonly hasChanges: boolean;
  readonly isWorkspaceUnlocked: boolean;
  readonly isLockHolderDiscardable: boolean;
}

export interface TransitionEffects {
  readonly plan?: PhaseStatus;
  readonly apply?: PhaseStatus;
  /** Every final status has `freed`; it has no effect on a run without the lock. */
  readonly lock?: "taken" | "freed";
  readonly signal?: "cancel" | "kill";
}

export interface StatusTransition extends TransitionEffects {
  /** In order; empty if the status does not change. */
  readonly to: readonly RunStatus[];
}

type TransitionCondition = (facts: RunFacts) => boolean;
type TransitionRow = readonly [
  from: RunStatus | readonly RunStatus[],
  event: LifecycleEventName | readonly LifecycleEventName[],
  when: TransitionCondition,
  to: RunStatus | readonly RunStatus[],
  effects: TransitionEffects,
];

const always: TransitionCondition = () => true;
const needsNoLock: TransitionCondition = ({ planOnly, savePlan }) => planOnly || savePlan;
const not =
  (condition: TransitionCondition): TransitionCondition =>
  (facts) =>
    !condition(facts);
const isUnlocked: TransitionCondition = (facts) => facts.isWorkspaceUnlocked;
const isCancelRequested: TransitionCondition = (facts) => facts.isCancelRequested;
const canForce: TransitionCondition = (facts) => facts.isCancelRequested && facts.isCoolOffOver;
const planOnly: TransitionCondition = (facts) => facts.planOnly;
const hasChanges: TransitionCondition = (facts) => facts.hasChanges;
const emptyApply: TransitionCondition = (facts) => !facts.hasChanges && facts.allowEmptyApply;
const savesPlan: TransitionCondition = (facts) => facts.savePlan && (facts.hasChanges || facts.allowEmptyApply);
const autoApplies: TransitionCondition = (facts) => facts.hasChanges && facts.autoApply && facts.isApproved;
// docs/decisions/0170-automatic-applies-need-an-approved-configuration.md
const autoAppliesEmpty: TransitionCondition = (facts) => emptyApply(facts) && facts.creatorMayApply && facts.isApproved;
const isHolderDiscardable: TransitionCondition = (facts) => facts.isLockHolderDiscardable;

const queued: TransitionEffects = { plan: "queued" };
const notPlanned: TransitionEffects = { plan: "unreachable", apply: "unreachable", lock: "freed" };
const planCanceled: TransitionEffects = { plan: "canceled", apply: "unreachable", lock: "freed" };
const applyCanceled: TransitionEffects = { apply: "canceled", lock: "freed" };
const notApplied: TransitionEffects = { apply: "unreachable", lock: "freed" };
const endsWithPlan: TransitionEffects = { plan: "finished", apply: "unreachable", lock: "freed" };
const queuesApply: TransitionEffects = { plan: "finished", apply: "queued" };
const phaseEnds = ["phase-finished", "phase-errored", "phase-returned"] as const;

/** The first matching row wins. */
// prettier-ignore
const table: readonly TransitionRow[] = [
  // from                           event              when                        to                                       effects
  ["pending",                       "admit",           needsNoLock,                "plan_queued",                           queued],
  ["pending",                       "admit",           isUnlocked,                 "plan_queued",                           { ...queued, lock: "taken" }],
  ["pending",                       "refuse",          always,                     "errored",                               { plan: "errored", apply: "unreachable", lock: "freed" }],

  ["plan_queued",                   "claim",           always,                     "planning",                              { plan: "running" }],
  ["planning",                      phaseEnds,         isCancelRequested,          "canceled",                              planCanceled],
  ["planning",                      "phase-finished",  planOnly,                   "planned_and_finished",                  endsWithPlan],
  ["planning",                      "phase-finished",  savesPlan,                  "planned_and_saved",                     { plan: "finished" }],
  ["planning",                      "phase-finished",  autoAppliesEmpty,           ["confirmed", "apply_queued"],           queuesApply],
  ["planning",                      "phase-finished",  emptyApply,                 "planned",                               { plan: "finished" }],
  ["planning",                      "phase-finished",  not(hasChanges),            "planned_and_finished",                  endsWithPlan],
  ["planning",                      "phase-finished",  autoApplies,                ["planned", "confirmed", "apply_queued"], queuesApply],
  ["planning",                      "phase-finished",  hasChanges,                 "planned",                               { plan: "finished" }],
  ["planning",                      "phase-errored",   always,                     "errored",                               { plan: "errored", apply: "unreachable", lock: "freed" }],
  ["planning",                      "phase-returned",  always,                     "plan_queued",                           queued],

  ["planned",                       "apply",           always,                     ["confirmed", "apply_queued"],           { apply: "queued" }],
  ["planned_and_saved",             "apply",           isUnlocked,                 ["confirmed", "apply_queued"],           { apply: "queued", lock: "taken" }],
  ["planned_and_saved",             "stale",           always,                     "discarded",                             notApplied],

  ["apply_queued",                  "claim",           always,                     "applying",                              { apply: "running" }],
  ["applying",                      "phase-finished",  always,                     "applied",                               { apply: "finished", lock: "freed" }],
  ["applying",                      ["phase-errored", "phase-returned"], isCancelRequested, "canceled",                     applyCanceled],
  ["applying",                      "phase-errored",   always,                     "errored",                               { apply: "errored", lock: "freed" }],
  ["applying",                      "phase-returned",  always,                     "apply_queued",                          { apply: "queued" }],

  ["pending",                       "discard",         always,                     "discarded",                             notPlanned],
  [["planned", "planned_and_saved"], "discard",        always,                     "discarded",                             notApplied],

  [["pending", "plan_queued"],      "cancel",          always,                     "canceled",                              planCanceled],
  [["confirmed", "apply_queued"],   "cancel",          always,                     "canceled",                              applyCanceled],
  [["planning", "applying"],        "cancel",          not(isCancelRequested),     [],                                      { signal: "cancel" }],
  ["planning",                      "force-cancel",    canForce,                   "canceled",                              { ...planCanceled, signal: "kill" }],
  ["applying",                      "force-cancel",    canForce,                   "canceled",                              { ...applyCanceled, signal: "kill" }],
  // Only a site admin can do this: others can't cancel such a run first.
  [["planned", "planned_and_saved"], "force-cancel",   canForce,                   "canceled",                              notApplied],

  ["pending",                       "force-execute",   isHolderDiscardable,        [],                                      {}],
];

const names = <Name extends string>(one: Name | readonly Name[]): readonly Name[] =>
  typeof one === "string" ? [one] : one;

/** Undefined if no row matches: the event is refused. */
export function transitionOf(facts: RunFacts, event: LifecycleEventName): StatusTransition | undefined {
  const row = table.find(
    ([from, name, when]) => names(from).includes(facts.status) && names(name).includes(event) && when(facts),
  );
  return row && { to: names(row[3]), ...row[4] };
}

const verbs: Readonly<Partial<Record<LifecycleEventName, string>>> = {
  apply: "confirmed",
  discard: "discarded",
  cancel: "canceled",
  "force-cancel": "force-canceled",
  "force-execute": "force-executed",
};

export function refusalReason(facts: RunFacts, event: LifecycleEventName): string {
  const { status } = facts;
  const cant = `The run can't be ${verbs[event] ?? "changed"}`;
  if (isFinal(status)) return `${cant}: it has ended and is ${status}. Start another run.`;
  if (event === "apply" && status === "planned_and_saved")
    return `${cant}: the workspace is locked. Wait until it is free, or unlock it, and confirm the run again.`;
  if (event === "apply") return `${cant}: it is ${status}. Wait until its plan needs confirmation.`;
  if (event === "discard")
    return `${cant}: it is ${status}. Only a run that is pending or needs confirmation can be discarded. Cancel it instead.`;
  if (event === "cancel" && facts.isCancelRequested)
    return `${cant}: a cancel was already requested, and the engine was interrupted. Wait, or force-cancel it.`;
  if (event === "cancel") return `${cant}: it is ${status}. Discard it instead.`;
  if (event === "force-cancel" && !facts.isCancelRequested) return `${cant}: it was not canceled yet. Cancel it first.`;
  if (event === "force-cancel")
    return `${cant} yet: the engine was interrupted and has until force-cancel-available-at to stop. Wait until then.`;
  return `${cant}: it is ${status}.`;
}

export const timestampNameOf = (status: RunStatus): string =>
  status === "pending" ? "plan-queueable-at" : `${status.replaceAll("_", "-")}-at`;

export const runEventActionOf = (status: RunStatus): string | undefined => eventActions[status];
const eventActions: Partial<Record<RunStatus, string>> = {
  plan_queued: "queued",
  planning: "planning",
  planned: "planned",
  planned_and_finished: "planned",
  planned_and_saved: "planned",
  confirmed: "confirmed",
  applying: "applying",
  applied: "applied",
  discarded: "discarded",
  errored: "errored",
  canceled: "canceled",
};
