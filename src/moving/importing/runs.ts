/** The runs of a workspace that have ended, as history: nothing of them is executed, and their logs stay where they are. */
import { AppError } from "../../kernel/errors.ts";
import { counted } from "../../kernel/text.ts";
import { bringRuns, type HistoricPhase, type HistoricRun } from "../../resources/runs/runs/history.ts";
import { isFinal } from "../../resources/runs/runs/machine.ts";
import { readLatestRun } from "../store.ts";
import { flagOf, isObject, Missing, numberOf, objectOf, relatedId, textOf, type Thing } from "../wire.ts";
import type { Hand } from "./hand.ts";
import { type HistoryOf, momentOf } from "./states.ts";

const kind = "runs";
const runsAtOnce = 50;

interface Read {
  readonly run: Thing;
  readonly included: readonly Thing[];
}

export async function bringRunHistory(hand: Hand, history: HistoryOf): Promise<void> {
  const { label } = history;
  const wanted: Read[] = [];
  for (const read of await runsThere(hand, history)) {
    if (hand.ours(kind, read.run.id) !== undefined) hand.report.count(kind, "here");
    else if (isFinal(statusOf(read.run))) wanted.push(read);
    else
      hand.report.left(
        kind,
        `${label}, ${read.run.id}`,
        `it is ${textOf(read.run, "status") ?? "of no status"} at the source; it comes when it has ended and the import is repeated`,
      );
  }
  if (hand.dry) hand.report.count(kind, "brought", wanted.length);
  else await bringInOrder(hand, history, wanted);
}

async function bringInOrder(hand: Hand, history: HistoryOf, wanted: readonly Read[]): Promise<void> {
  const { ours, label } = history;
  if (wanted.length === 0) return;
  // The one that came last, which need not be the newest: one that ended late came late.
  const latest = await readLatestRun(hand.request.context.database.reader, ours);
  let after = latest !== undefined && hand.wasBrought(kind, latest) ? latest : undefined;
  for (let start = 0; start < wanted.length; start += runsAtOnce) {
    hand.request.signal?.throwIfAborted();
    const part = wanted.slice(start, start + runsAtOnce);
    const historic = part.map((read) => historicOf(read, history));
    try {
      const ids = await bringRuns(hand.request.context, ours, after, historic, (tx, made) =>
        hand.link(
          part.map(({ run }, index) => ({ kind, sourceId: run.id, ourId: made[index] ?? "" })),
          tx,
        ),
      );
      after = ids.at(-1) ?? after;
      hand.report.count(kind, "brought", part.length);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "conflict") throw error;
      hand.report.count(kind, "left", wanted.length - start);
      hand.report.gap(kind, `${label}, ${counted(wanted.length - start, "run")}`, error.message);
      return;
    }
  }
}

/** The oldest first. */
async function runsThere(hand: Hand, { workspace, label }: HistoryOf): Promise<Read[]> {
  const path = `/workspaces/${workspace.id}/runs`;
  for (const query of ["?include=plan,apply,created_by", ""]) {
    try {
      const runs: Read[] = [];
      for await (const { things, included } of hand.peer.pages(path + query))
        for (const run of things) runs.push({ run, included: includedFor(run, included) });
      return runs.toReversed();
    } catch (error) {
      if (!(error instanceof Missing)) throw error;
      if (query === "") hand.report.gap(kind, label, error.message);
    }
  }
  return [];
}

function includedFor(run: Thing, included: readonly Thing[]): Thing[] {
  const ids = new Set(["plan", "apply", "created-by"].map((name) => relatedId(run, name)));
  return included.filter(({ id }) => ids.has(id));
}

/** What other servers call an end. */
const sameEnds: Readonly<Record<string, string>> = { force_canceled: "canceled", policy_soft_failed: "errored" };

const statusOf = (run: Thing): string => {
  const status = textOf(run, "status") ?? "";
  return sameEnds[status] ?? status;
};

function historicOf({ run, included }: Read, { people }: HistoryOf): HistoricRun {
  const status = statusOf(run) as HistoricRun["status"];
  const timestamps = stampsOf(run);
  const createdAt = momentOf(textOf(run, "created-at"));
  const maker = relatedId(run, "created-by");
  const user = included.find(({ id }) => id === maker);
  const phases = phasesAfter(status, "planned-at" in timestamps || "planned-and-finished-at" in timestamps);
  const phase = (name: "plan" | "apply") =>
    phaseOf(
      included.find(({ id }) => id === relatedId(run, name)),
      phases[name],
    );
  return {
    status,
    timestamps,
    createdAt,
    endedAt: momentOf(Object.values(timestamps).toSorted().at(-1) ?? createdAt),
    message: (textOf(run, "message") ?? "").slice(0, 4096),
    source: textOf(run, "source") ?? "tfe-api",
    triggerReason: textOf(run, "trigger-reason") ?? "manual",
    isDestroy: flagOf(run, "is-destroy"),
    refresh: run.attributes["refresh"] !== false,
    refreshOnly: flagOf(run, "refresh-only"),
    planOnly: flagOf(run, "plan-only"),
    autoApply: flagOf(run, "auto-apply"),
    allowEmptyApply: flagOf(run, "allow-empty-apply"),
    hasChanges: flagOf(run, "has-changes"),
    engineVersion: textOf(run, "terraform-version") ?? textOf(run, "engine-version") ?? null,
    maker: { userId: people.userId(maker), name: people.name(maker) ?? (user && textOf(user, "username")) ?? null },
    plan: phase("plan"),
    apply: phase("apply"),
  };
}

const stampsOf = (thing: Thing): Record<string, string> =>
  Object.fromEntries(
    Object.entries(objectOf(thing, "status-timestamps")).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    ),
  );

type PhaseEnd = HistoricPhase["status"];

/** What the end of a run says of its phases, where the source does not show them. */
function phasesAfter(status: HistoricRun["status"], wasPlanned: boolean): { plan: PhaseEnd; apply: PhaseEnd } {
  if (status === "applied") return { plan: "finished", apply: "finished" };
  if (status === "planned_and_finished") return { plan: "finished", apply: "unreachable" };
  if (status === "discarded") return { plan: wasPlanned ? "finished" : "unreachable", apply: "unreachable" };
  return wasPlanned ? { plan: "finished", apply: status } : { plan: status, apply: "unreachable" };
}

const phaseEnds: readonly string[] = ["finished", "errored", "canceled", "unreachable"];

function phaseOf(shown: Thing | undefined, otherwise: PhaseEnd): HistoricPhase {
  const phase = shown ?? { attributes: {}, id: "", type: "", relationships: {} };
  const status = textOf(phase, "status") ?? "";
  return {
    status: phaseEnds.includes(status) ? (status as PhaseEnd) : otherwise,
    timestamps: isObject(phase.attributes["status-timestamps"]) ? stampsOf(phase) : {},
    additions: numberOf(phase, "resource-additions"),
    changes: numberOf(phase, "resource-changes"),
    destructions: numberOf(phase, "resource-destructions"),
    imports: numberOf(phase, "resource-imports"),
    invocations: numberOf(phase, "action-invocations"),
  };
}
