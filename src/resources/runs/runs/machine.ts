/**
 * The life of a run: one table of status × event → statuses, with what happens to its plan, its apply and the workspace's lock
 * beside it. It is total: what no row names is refused. Pure; `lifecycle.ts` carries the steps out, and nothing else changes a
 * status. See the section on runs in docs/architecture.md.
 */
import type { PhaseStatus } from "../phases/rules.ts";

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

/** A run in one of these has ended: it changes no more, and never holds a lock. */
export const finalStatuses = ["applied", "planned_and_finished", "discarded", "errored", "canceled"] as const;
export const isFinal = (status: string): boolean => (finalStatuses as readonly string[]).includes(status);

/** The status group of the same name. A run that waits its turn can be discarded too, but clients do not offer it. */
export const discardableStatuses = ["planned", "planned_and_saved"] as const;
export const isDiscardable = (status: string): boolean => (discardableStatuses as readonly string[]).includes(status);
export const isConfirmable = isDiscardable;

const cancelableStatuses = [
  "pending",
  "fetching",
  "plan_queued",
  "planning",
  "confirmed",
  "apply_queued",
  "applying",
] as const;
export const isCancelable = ({ status, cancelAsked }: Pick<RunFacts, "status" | "cancelAsked">): boolean =>
  !cancelAsked && (cancelableStatuses as readonly string[]).includes(status);

export const isForceCancelable = (facts: Pick<RunFacts, "status" | "cancelAsked" | "coolOffPassed">): boolean =>
  facts.cancelAsked && facts.coolOffPassed && !isFinal(facts.status);

export const runEventNames = [
  // by the service
  "admit",
  "refuse",
  "fetch-succeeded",
  "fetch-failed",
  "stale",
  "workspace-deleted",
  // by an agent
  "claim",
  "phase-finished",
  "phase-errored",
  "phase-returned",
  // by a person
  "apply",
  "discard",
  "cancel",
  "force-cancel",
  "force-execute",
] as const;
export type RunEventName = (typeof runEventNames)[number];

/** All that a step depends on beside the event. */
export interface RunFacts {
  readonly status: RunStatus;
  readonly planOnly: boolean;
  readonly savePlan: boolean;
  readonly allowEmptyApply: boolean;
  /** As it is in force. */
  readonly autoApply: boolean;
  /** Whether its creator may apply. */
  readonly creatorMayApply: boolean;
  /** Whether somebody who may apply has approved its configuration. */
  readonly isApproved: boolean;
  readonly cancelAsked: boolean;
  /** Whether the time after a cancel is over, from which on it can be forced. */
  readonly coolOffPassed: boolean;
  /** Of the plan that ended, as the engine says. */
  readonly hasChanges: boolean;
  /** Whether nobody else holds the workspace's lock. */
  readonly workspaceFree: boolean;
  /** Whether a run that can be discarded holds it. */
  readonly heldByDiscardable: boolean;
  /** Whether the configuration has to be fetched first. */
  readonly fetches: boolean;
}

/** What happens beside the statuses that a run goes through. */
export interface Beside {
  readonly plan?: PhaseStatus;
  readonly apply?: PhaseStatus;
  /** `freed` is said of every end: a run that holds no lock frees none. */
  readonly lock?: "taken" | "freed";
  /** What the agent that executes is told. */
  readonly signal?: "cancel" | "kill";
}

export interface Step extends Beside {
  /** One after the other, in one step; none where the run stays what it is. */
  readonly to: readonly RunStatus[];
}

type Condition = (facts: RunFacts) => boolean;
type Row = readonly [
  from: RunStatus | readonly RunStatus[],
  event: RunEventName | readonly RunEventName[],
  when: Condition,
  to: RunStatus | readonly RunStatus[],
  beside: Beside,
];

const always: Condition = () => true;
const passesBeside: Condition = ({ planOnly, savePlan }) => planOnly || savePlan;
const both =
  (one: Condition, other: Condition): Condition =>
  (facts) =>
    one(facts) && other(facts);
const not =
  (condition: Condition): Condition =>
  (facts) =>
    !condition(facts);
const free: Condition = ({ workspaceFree }) => workspaceFree;
const fetches: Condition = (facts) => facts.fetches;
const cancelAsked: Condition = (facts) => facts.cancelAsked;
const forceable: Condition = (facts) => facts.cancelAsked && facts.coolOffPassed;
const planOnly: Condition = (facts) => facts.planOnly;
const changes: Condition = ({ hasChanges }) => hasChanges;
const emptyApply: Condition = ({ hasChanges, allowEmptyApply }) => !hasChanges && allowEmptyApply;
const saves: Condition = (facts) => facts.savePlan && (facts.hasChanges || facts.allowEmptyApply);
const applies: Condition = ({ hasChanges, autoApply, isApproved }) => hasChanges && autoApply && isApproved;
// docs/decisions/0170-approved-configurations.md
const appliesEmpty: Condition = (facts) => emptyApply(facts) && facts.creatorMayApply && facts.isApproved;
const heldByDiscardable: Condition = (facts) => facts.heldByDiscardable;

const queued: Beside = { plan: "queued" };
const neverRan: Beside = { plan: "unreachable", apply: "unreachable", lock: "freed" };
const planCut: Beside = { plan: "canceled", apply: "unreachable", lock: "freed" };
const applyCut: Beside = { apply: "canceled", lock: "freed" };
const leftUnapplied: Beside = { apply: "unreachable", lock: "freed" };
const endsWithPlan: Beside = { plan: "finished", apply: "unreachable", lock: "freed" };
const goesOn: Beside = { plan: "finished", apply: "queued" };
const ended = ["phase-finished", "phase-errored", "phase-returned"] as const;

/** The first row that fits counts. */
// prettier-ignore
const table: readonly Row[] = [
  // from                           event              when                        to                                       beside
  ["pending",                       "admit",           both(passesBeside, fetches), "fetching",                             {}],
  ["pending",                       "admit",           passesBeside,               "plan_queued",                           queued],
  ["pending",                       "admit",           both(free, fetches),        "fetching",                              { lock: "taken" }],
  ["pending",                       "admit",           free,                       "plan_queued",                           { ...queued, lock: "taken" }],
  ["pending",                       "refuse",          always,                     "errored",                               { plan: "errored", apply: "unreachable", lock: "freed" }],
  ["fetching",                      "fetch-succeeded", always,                     ["fetching_completed", "plan_queued"],   queued],
  ["fetching",                      "fetch-failed",    always,                     "errored",                               neverRan],

  ["plan_queued",                   "claim",           always,                     "planning",                              { plan: "running" }],
  ["planning",                      ended,             cancelAsked,                "canceled",                              planCut],
  ["planning",                      "phase-finished",  planOnly,                   "planned_and_finished",                  endsWithPlan],
  ["planning",                      "phase-finished",  saves,                      "planned_and_saved",                     { plan: "finished" }],
  ["planning",                      "phase-finished",  appliesEmpty,               ["confirmed", "apply_queued"],           goesOn],
  ["planning",                      "phase-finished",  emptyApply,                 "planned",                               { plan: "finished" }],
  ["planning",                      "phase-finished",  not(changes),               "planned_and_finished",                  endsWithPlan],
  ["planning",                      "phase-finished",  applies,                    ["planned", "confirmed", "apply_queued"], goesOn],
  ["planning",                      "phase-finished",  changes,                    "planned",                               { plan: "finished" }],
  ["planning",                      "phase-errored",   always,                     "errored",                               { plan: "errored", apply: "unreachable", lock: "freed" }],
  ["planning",                      "phase-returned",  always,                     "plan_queued",                           queued],

  ["planned",                       "apply",           always,                     ["confirmed", "apply_queued"],           { apply: "queued" }],
  ["planned_and_saved",             "apply",           free,                       ["confirmed", "apply_queued"],           { apply: "queued", lock: "taken" }],
  ["planned_and_saved",             "stale",           always,                     "discarded",                             leftUnapplied],

  ["apply_queued",                  "claim",           always,                     "applying",                              { apply: "running" }],
  ["applying",                      "phase-finished",  always,                     "applied",                               { apply: "finished", lock: "freed" }],
  ["applying",                      "phase-errored",   cancelAsked,                "canceled",                              applyCut],
  ["applying",                      "phase-errored",   always,                     "errored",                               { apply: "errored", lock: "freed" }],

  ["pending",                       "discard",         always,                     "discarded",                             neverRan],
  [["planned", "planned_and_saved"], "discard",        always,                     "discarded",                             leftUnapplied],

  [["pending", "fetching", "plan_queued"], "cancel",   always,                     "canceled",                              planCut],
  [["confirmed", "apply_queued"],   "cancel",          always,                     "canceled",                              applyCut],
  [["planning", "applying"],        "cancel",          not(cancelAsked),           [],                                      { signal: "cancel" }],
  ["planning",                      "force-cancel",    forceable,                  "canceled",                              { ...planCut, signal: "kill" }],
  ["applying",                      "force-cancel",    forceable,                  "canceled",                              { ...applyCut, signal: "kill" }],
  // Only site admins come here: nobody else can ask such a run to be canceled first.
  [["planned", "planned_and_saved"], "force-cancel",   forceable,                  "canceled",                              leftUnapplied],

  ["pending",                       "force-execute",   heldByDiscardable,          [],                                      {}],

  [["pending", "fetching", "fetching_completed", "plan_queued"],
                                    "workspace-deleted", always,                   "canceled",                              planCut],
  ["planning",                      "workspace-deleted", always,                   "canceled",                              { ...planCut, signal: "kill" }],
  [["planned", "planned_and_saved"], "workspace-deleted", always,                  "canceled",                              leftUnapplied],
  [["confirmed", "apply_queued"],   "workspace-deleted", always,                   "canceled",                              applyCut],
  ["applying",                      "workspace-deleted", always,                   "canceled",                              { ...applyCut, signal: "kill" }],
];

const names = <Name extends string>(one: Name | readonly Name[]): readonly Name[] =>
  typeof one === "string" ? [one] : one;

/** What an event does to a run; undefined where it is refused. */
export function stepOf(facts: RunFacts, event: RunEventName): Step | undefined {
  const row = table.find(
    ([from, name, when]) => names(from).includes(facts.status) && names(name).includes(event) && when(facts),
  );
  return row && { to: names(row[3]), ...row[4] };
}

/** What the life of a run leads to at once, for the words of a refusal. */
const verbs: Readonly<Partial<Record<RunEventName, string>>> = {
  apply: "confirmed",
  discard: "discarded",
  cancel: "canceled",
  "force-cancel": "canceled by force",
  "force-execute": "executed by force",
};

/** Why an event is refused, as a sentence that says what to do. */
export function refusalOf(facts: RunFacts, event: RunEventName): string {
  const { status } = facts;
  const cant = `The run can't be ${verbs[event] ?? "changed so"}`;
  if (isFinal(status)) return `${cant}: it has ended, it is ${status}. Start another one.`;
  if (event === "apply" && status === "planned_and_saved")
    return `${cant}: the workspace is locked. Wait until it is free, or unlock it, and confirm the run again.`;
  if (event === "apply")
    return `${cant}: it is ${status}. Wait until it is planned and has changes that wait for a person.`;
  if (event === "discard")
    return `${cant}: it is ${status}. Only a run that waits, for its turn or to be confirmed, can be discarded; cancel it instead.`;
  if (event === "cancel" && facts.cancelAsked)
    return `${cant}: that was asked for already, and the engine was interrupted. Wait, or cancel it by force.`;
  if (event === "cancel") return `${cant}: it is ${status}. Discard it instead.`;
  if (event === "force-cancel" && !facts.cancelAsked) return `${cant}: it was not canceled yet. Cancel it first.`;
  if (event === "force-cancel")
    return `${cant} yet: the engine was told to stop and has until force-cancel-available-at. Wait until then.`;
  return `${cant}: it is ${status}.`;
}

/** What a status is called in `status-timestamps`. */
export const stampOf = (status: RunStatus): string =>
  status === "pending"
    ? "plan-queueable-at"
    : status === "fetching_completed"
      ? "fetched-at"
      : `${status.replaceAll("_", "-")}-at`;

/** The word for a status that was reached, among a run's events; undefined where none is told. */
export const eventOf = (status: RunStatus): string | undefined => eventWords[status];
const eventWords: Partial<Record<RunStatus, string>> = {
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
