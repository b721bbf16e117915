/** The state machine of runs: each row of the table, and every refused pair. */
import { describe, expect, it } from "vitest";
import {
  finalStatuses,
  refusalReason,
  type LifecycleEventName,
  lifecycleEventNames,
  type RunFacts,
  runStatuses,
  type RunStatus,
  type StatusTransition,
  transitionOf,
} from "../../../../src/resources/runs/runs/state-machine.ts";

const plain: RunFacts = {
  status: "pending",
  planOnly: false,
  savePlan: false,
  allowEmptyApply: false,
  autoApply: false,
  creatorMayApply: true,
  isApproved: true,
  isCancelRequested: false,
  isCoolOffOver: false,
  hasChanges: false,
  isWorkspaceUnlocked: true,
  isLockHolderDiscardable: false,
};

const planOnly = { planOnly: true };
const savePlan = { savePlan: true };
const changes = { hasChanges: true };
const held = { isWorkspaceUnlocked: false };
const unapproved = { isApproved: false };
const byPlanner = { creatorMayApply: false };
const canceling = { isCancelRequested: true };
const forceable = { isCancelRequested: true, isCoolOffOver: true };

type Case = readonly [RunStatus, LifecycleEventName, Partial<RunFacts>, StatusTransition];
const to = (...statuses: RunStatus[]) => ({ to: statuses });

const freed = { lock: "freed" } as const;
const cases: readonly Case[] = [
  ["pending", "admit", {}, { ...to("plan_queued"), plan: "queued", lock: "taken" }],
  ["pending", "admit", planOnly, { ...to("plan_queued"), plan: "queued" }],
  ["pending", "admit", { ...planOnly, ...held }, { ...to("plan_queued"), plan: "queued" }],
  ["pending", "admit", savePlan, { ...to("plan_queued"), plan: "queued" }],
  ["pending", "admit", { ...savePlan, ...held }, { ...to("plan_queued"), plan: "queued" }],
  ["pending", "refuse", {}, { ...to("errored"), plan: "errored", apply: "unreachable", ...freed }],
  ["plan_queued", "claim", {}, { ...to("planning"), plan: "running" }],
  [
    "planning",
    "phase-finished",
    {},
    { ...to("planned_and_finished"), plan: "finished", apply: "unreachable", ...freed },
  ],
  [
    "planning",
    "phase-finished",
    { autoApply: true },
    { ...to("planned_and_finished"), plan: "finished", apply: "unreachable", ...freed },
  ],
  [
    "planning",
    "phase-finished",
    planOnly,
    { ...to("planned_and_finished"), plan: "finished", apply: "unreachable", ...freed },
  ],
  [
    "planning",
    "phase-finished",
    { ...planOnly, ...changes, allowEmptyApply: true },
    { ...to("planned_and_finished"), plan: "finished", apply: "unreachable", ...freed },
  ],
  ["planning", "phase-finished", { ...savePlan, ...changes }, { ...to("planned_and_saved"), plan: "finished" }],
  [
    "planning",
    "phase-finished",
    savePlan,
    { ...to("planned_and_finished"), plan: "finished", apply: "unreachable", ...freed },
  ],
  [
    "planning",
    "phase-finished",
    { ...savePlan, allowEmptyApply: true },
    { ...to("planned_and_saved"), plan: "finished" },
  ],
  [
    "planning",
    "phase-finished",
    { allowEmptyApply: true },
    { ...to("confirmed", "apply_queued"), plan: "finished", apply: "queued" },
  ],
  [
    "planning",
    "phase-finished",
    { ...changes, autoApply: true },
    { ...to("planned", "confirmed", "apply_queued"), plan: "finished", apply: "queued" },
  ],
  ["planning", "phase-finished", changes, { ...to("planned"), plan: "finished" }],
  ["planning", "phase-finished", { ...changes, allowEmptyApply: true }, { ...to("planned"), plan: "finished" }],
  [
    "planning",
    "phase-finished",
    { ...changes, autoApply: true, ...unapproved },
    { ...to("planned"), plan: "finished" },
  ],
  ["planning", "phase-finished", { allowEmptyApply: true, ...unapproved }, { ...to("planned"), plan: "finished" }],
  ["planning", "phase-finished", { allowEmptyApply: true, ...byPlanner }, { ...to("planned"), plan: "finished" }],
  ["planning", "phase-errored", {}, { ...to("errored"), plan: "errored", apply: "unreachable", ...freed }],
  ["planning", "phase-returned", {}, { ...to("plan_queued"), plan: "queued" }],
  ["planned", "apply", {}, { ...to("confirmed", "apply_queued"), apply: "queued" }],
  ["planned", "apply", held, { ...to("confirmed", "apply_queued"), apply: "queued" }],
  ["planned_and_saved", "apply", {}, { ...to("confirmed", "apply_queued"), apply: "queued", lock: "taken" }],
  ["planned_and_saved", "stale", {}, { ...to("discarded"), apply: "unreachable", ...freed }],
  ["apply_queued", "claim", {}, { ...to("applying"), apply: "running" }],
  ["applying", "phase-finished", {}, { ...to("applied"), apply: "finished", ...freed }],
  ["applying", "phase-errored", {}, { ...to("errored"), apply: "errored", ...freed }],
  ["applying", "phase-returned", {}, { ...to("apply_queued"), apply: "queued" }],
  ["applying", "phase-returned", canceling, { ...to("canceled"), apply: "canceled", ...freed }],
  ["pending", "discard", {}, { ...to("discarded"), plan: "unreachable", apply: "unreachable", ...freed }],
  ["planned", "discard", {}, { ...to("discarded"), apply: "unreachable", ...freed }],
  ["planned_and_saved", "discard", {}, { ...to("discarded"), apply: "unreachable", ...freed }],
  ...(["pending", "plan_queued"] as const).map((status): Case => [
    status,
    "cancel",
    {},
    { ...to("canceled"), plan: "canceled", apply: "unreachable", ...freed },
  ]),
  ["confirmed", "cancel", {}, { ...to("canceled"), apply: "canceled", ...freed }],
  ["apply_queued", "cancel", {}, { ...to("canceled"), apply: "canceled", ...freed }],
  ["planning", "cancel", {}, { ...to(), signal: "cancel" }],
  ["applying", "cancel", {}, { ...to(), signal: "cancel" }],
  ...(["phase-finished", "phase-errored", "phase-returned"] as const).map((event): Case => [
    "planning",
    event,
    { ...canceling, ...changes },
    { ...to("canceled"), plan: "canceled", apply: "unreachable", ...freed },
  ]),
  ["applying", "phase-finished", canceling, { ...to("applied"), apply: "finished", ...freed }],
  ["applying", "phase-errored", canceling, { ...to("canceled"), apply: "canceled", ...freed }],
  [
    "planning",
    "force-cancel",
    forceable,
    { ...to("canceled"), plan: "canceled", apply: "unreachable", ...freed, signal: "kill" },
  ],
  ["applying", "force-cancel", forceable, { ...to("canceled"), apply: "canceled", ...freed, signal: "kill" }],
  ...(["planned", "planned_and_saved"] as const).map((status): Case => [
    status,
    "force-cancel",
    forceable,
    { ...to("canceled"), apply: "unreachable", ...freed },
  ]),
  ["pending", "force-execute", { ...held, isLockHolderDiscardable: true }, to()],
];

const flags = [
  "planOnly",
  "savePlan",
  "allowEmptyApply",
  "autoApply",
  "creatorMayApply",
  "isApproved",
  "isCancelRequested",
  "isCoolOffOver",
  "hasChanges",
  "isWorkspaceUnlocked",
  "isLockHolderDiscardable",
] as const;
/** All combinations of facts for a status. */
const everyRun = (status: RunStatus): RunFacts[] =>
  Array.from({ length: 2 ** flags.length }, (_, bits) => ({
    ...plain,
    ...Object.fromEntries(flags.map((flag, position) => [flag, (bits & (1 << position)) !== 0])),
    status,
  }));
/** All combinations of facts, with all events. */
const everything = runStatuses
  .flatMap(everyRun)
  .flatMap((run) => lifecycleEventNames.map((event) => ({ run, event, transition: transitionOf(run, event) })));

describe("a transition", () => {
  it.each(cases)("%s, %s %j", (status, event, facts, transition) => {
    expect(transitionOf({ ...plain, ...facts, status }, event)).toEqual(transition);
  });

  it("is refused for every pair without a row", () => {
    const named = new Set(cases.map(([status, event]) => `${status} ${event}`));
    const accepted = everything.flatMap(({ run, event, transition }) =>
      transition === undefined ? [] : [`${run.status} ${event}`],
    );
    expect(new Set(accepted)).toEqual(named);
  });

  it.each([
    ["pending", "admit", held],
    ["pending", "force-execute", held],
    ["planned_and_saved", "apply", held],
    ["planning", "cancel", canceling],
    ["applying", "cancel", canceling],
    ["planning", "force-cancel", canceling],
    ["applying", "force-cancel", canceling],
    ["planning", "force-cancel", {}],
    ["planned", "force-cancel", {}],
    ["apply_queued", "phase-returned", {}],
  ] as const)("is refused: %s, %s %j", (status, event, facts) => {
    expect(transitionOf({ ...plain, ...facts, status }, event)).toBeUndefined();
  });

  it("never leaves a final status", () => {
    for (const status of finalStatuses)
      for (const event of lifecycleEventNames)
        expect(everyRun(status).every((run) => transitionOf(run, event) === undefined)).toBe(true);
  });

  it("frees the lock exactly in final statuses", () => {
    const wrong = everything.filter(({ run, transition }) => {
      if (transition === undefined) return false;
      const ends = (finalStatuses as readonly string[]).includes(transition.to.at(-1) ?? run.status);
      const leavesApply = ends && transition.apply === undefined && run.status === "planning";
      return (transition.lock === "freed") !== ends || leavesApply;
    });
    expect(wrong.slice(0, 3)).toEqual([]);
  });

  it("takes no lock for a plan-only run or a saved plan", () => {
    for (const run of everyRun("pending").filter((each) => each.planOnly || each.savePlan))
      expect(transitionOf(run, "admit")?.lock).toBeUndefined();
  });
});

describe("a refusal", () => {
  it("is a sentence for every refused pair", () => {
    const refused = everything.filter(({ transition }) => transition === undefined);
    expect(refused.length).toBeGreaterThan(everything.length / 2);
    const wrong = refused.filter(({ run, event }) => !/^The run can't be .+\.$/.test(refusalReason(run, event)));
    expect(wrong.slice(0, 3)).toEqual([]);
  });
});
