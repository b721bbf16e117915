/** Checks a history for wrong responses. Pure: histories in, faults out. `aftermath.ts` checks the data afterwards. */
import { leaseSeconds } from "./actors.ts";
import type { Event, History } from "./history.ts";
import { type Call, judgeLinearity, type Model } from "./linear.ts";
import { type LockOp, lock, register, type RegisterOp } from "./models.ts";

export interface Figures {
  readonly asked: number;
  readonly done: number;
  readonly refused: number;
  readonly unknown: number;
  /** The longest time in which no write was acknowledged by any server. */
  readonly unavailableMs: number;
  readonly slowestMs: number;
}

export function figuresOf({ events }: Pick<History, "events">): Figures {
  const count = (outcome: Event["outcome"]) => events.filter((event) => event.outcome === outcome).length;
  return {
    asked: events.length,
    done: count("done") + count("declined"),
    refused: count("refused"),
    unknown: count("unknown"),
    unavailableMs: longestPause(events),
    slowestMs: events.reduce((slowest, { calledMs, answeredMs }) => Math.max(slowest, answeredMs - calledMs), 0),
  };
}

function longestPause(events: readonly Event[]): number {
  const doneAt = events
    .filter(({ isWrite, outcome }) => isWrite && outcome === "done")
    .map(({ answeredMs }) => answeredMs)
    .sort((one, other) => one - other);
  return doneAt.reduce((longest, at, index) => Math.max(longest, at - (doneAt[index - 1] ?? at)), 0);
}

/** Returns one sentence per fault. An operation without a response takes effect within `settledMs`, or at any later time if that is left out. */
export function faultsOf({ events }: Pick<History, "events">, settledMs = Number.POSITIVE_INFINITY): string[] {
  const judged = { events, settledMs };
  return [
    ...wrongResponses(events),
    ...linearityFaults(judged, "locks", lockOp, lock),
    ...linearityFaults(judged, "values", registerOp, register("")),
    ...linearityFaults(judged, "access", registerOp, register("no")),
    ...leaseFaults(events.filter(({ proof }) => proof === "leases")),
    ...jobFaults(events.filter(({ proof }) => proof === "jobs")),
  ];
}

const timeText = (atMs: number) => `${(atMs / 1000).toFixed(1)} s`;

function wrongResponses(events: readonly Event[]): string[] {
  return events
    .filter(({ outcome }) => outcome === "wrong")
    .map(
      ({ server, kind, key, note, answeredMs }) =>
        `${server} responded to ${kind} of ${key} at ${timeText(answeredMs)}: ${note}`,
    );
}

/** Checks each resource separately. Refused operations are left out: if one took effect anyway, reads of its value break linearizability. */
function linearityFaults<State extends string, Op>(
  { events, settledMs }: { readonly events: readonly Event[]; readonly settledMs: number },
  proof: string,
  toOp: (event: Event) => Op,
  model: Model<State, Op>,
): string[] {
  const own = Map.groupBy(
    events.filter((event) => event.proof === proof),
    ({ key }) => key,
  );
  return [...own].flatMap(([key, all]) => {
    const calls = all.filter(isRelevant).map((event): Call<Op> => {
      const { calledMs, answeredMs, outcome } = event;
      const op = toOp(event);
      if (outcome !== "unknown") return { op, calledMs, answeredMs };
      return { op, calledMs, answeredMs: Number.POSITIVE_INFINITY, untilMs: answeredMs + settledMs };
    });
    const judged = judgeLinearity(calls, model);
    if (judged.kind === "linear") return [];
    if (judged.kind === "undecided") return [`${proof} ${key}: too many unknown outcomes to check`];
    return [
      `${proof} ${key}: the response at ${timeText(judged.at)}, after ${judged.explained} calls, is not linearizable`,
    ];
  });
}

/** Reads without a known outcome carry no information. */
const isRelevant = ({ outcome, isWrite }: Event) =>
  outcome === "done" || outcome === "declined" || (outcome === "unknown" && isWrite);

function lockOp({ kind, value, outcome, by }: Event): LockOp {
  const isDone = outcome !== "declined";
  if (kind === "lock") return { kind, holder: value, isDone };
  return kind === "unlock" ? { kind, by, isDone } : { kind: "read", holder: value };
}

const registerOp = ({ isWrite, value }: Event): RegisterOp => ({ kind: isWrite ? "write" : "read", value });

/** Tolerance for the time between a server's clock and its response. */
const leaseSlackMs = 2_000;

/** Two clients must not hold a lock at the same time, and an expired lease must not block others. */
export function leaseFaults(events: readonly Event[]): string[] {
  const leaseMs = leaseSeconds * 1000;
  return [...Map.groupBy(events, ({ key }) => key)].flatMap(([key, all]) => {
    const held = all.filter(({ outcome }) => outcome === "done");
    const maybeHeld = all.filter(({ outcome }) => outcome === "unknown");
    const early = held.flatMap((one) =>
      held
        .filter((other) => other !== one && other.answeredMs > one.answeredMs)
        .filter((other) => other.answeredMs < one.calledMs + leaseMs - leaseSlackMs)
        .map(
          (other) =>
            `leases ${key}: ${other.by} got the lock from ${other.server} at ${timeText(other.answeredMs)}, while ${one.by} held it since ${timeText(one.answeredMs)}`,
        ),
    );
    const late = all
      .filter(({ outcome }) => outcome === "declined")
      .filter(({ calledMs, answeredMs }) => {
        const isHeldBy = (other: Event) =>
          other.calledMs < answeredMs && other.answeredMs + leaseMs + leaseSlackMs > calledMs;
        // An operation with an unknown outcome can take effect some time later.
        const mayBeHeldBy = (other: Event) => other.calledMs < answeredMs && other.answeredMs + 2 * leaseMs > calledMs;
        return !held.some(isHeldBy) && !maybeHeld.some(mayBeHeldBy);
      })
      .map(
        ({ by, server, calledMs }) =>
          `leases ${key}: ${server} refused it to ${by} at ${timeText(calledMs)}, although nobody held it`,
      );
    return [...early, ...late];
  });
}

/** Each attempt of a job is claimed once and finished once. */
export function jobFaults(events: readonly Event[]): string[] {
  const twice = (kind: string, what: string) =>
    [
      ...Map.groupBy(
        events.filter((event) => event.kind === kind && event.outcome === "done"),
        keyOf,
      ),
    ]
      .filter(([, all]) => all.length > 1)
      .map(([key, all]) => `${what} ${all.length} times: ${key}, by ${all.map(({ by }) => by).join(", ")}`);
  return [...twice("claim", "a job was claimed"), ...twice("finish", "the end of a job was accepted")];
}

const keyOf = ({ kind, key, value }: Event) => (kind === "claim" ? value : key);
