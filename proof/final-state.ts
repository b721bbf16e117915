/**
 * Checks the final state of resources that only one client changed: it must be the last acknowledged write, or a later one whose outcome is
 * unknown. Pure: events and what was read in, faults out.
 */
import type { Event } from "./history.ts";

/** How resources are read: from a list, by a key, with the attributes that distinguish the writes. */
export interface ResourceView {
  readonly list: string;
  readonly by: string;
  /** Several for atomic changes: all of them change, or none. */
  readonly names: readonly string[];
  readonly shows: readonly string[];
}

/** The value at a dotted path. */
const at = (item: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, name) => (inner as Record<string, unknown> | null)?.[name], item);

export const textOf = (item: unknown, shows: readonly string[]): string =>
  shows.map((path) => JSON.stringify(at(item, path) ?? null)).join(" ");

export function seenAt({ by, names, shows }: ResourceView, list: readonly unknown[]): string {
  return joinValues(
    names.map((name) => {
      const found = list.filter((item) => at(item, by) === name);
      return found.length === 0 ? absent : found.map((item) => textOf(item, shows)).join(" and ");
    }),
  );
}

/** Stands for a resource that is not in its list. */
export const absent = "(gone)";
export const joinValues = (words: readonly string[]): string => words.join(" + ");

export const keyOfView = ({ list, by, names, shows }: ResourceView): string => JSON.stringify([list, by, names, shows]);

export function viewOfKey(key: string): ResourceView {
  const [list, by, names, shows] = JSON.parse(key) as [string, string, string[], string[]];
  return { list, by, names, shows };
}

/** The snapshot was taken at some time between these two. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** After everything has ended: every acknowledged write must be present. */
export const afterwards: Window = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

/** Whether a write must, may or must not be present in a snapshot within the window. */
export function presenceOf(
  { outcome, calledMs, answeredMs }: Pick<Event, "outcome" | "calledMs" | "answeredMs">,
  { fromMs, toMs }: Window,
): "must" | "may" | "not" {
  // A wrong response is a fault of its own, and says nothing about the write.
  if (outcome === "refused" || outcome === "declined") return "not";
  if (calledMs > toMs) return "not";
  return outcome === "done" && answeredMs <= fromMs ? "must" : "may";
}

/** The values that a resource can have, given its writes in order. It didn't exist before the first. */
export function allowedValues(writes: readonly Event[], window: Window): Set<string> {
  const [first] = writes;
  const nothing = joinValues(first === undefined ? [] : viewOfKey(first.key).names.map(() => absent));
  let allowed = new Set([nothing]);
  for (const write of writes) {
    const presence = presenceOf(write, window);
    if (presence === "must") allowed = new Set([write.value]);
    else if (presence === "may") allowed.add(write.value);
  }
  return allowed;
}

/** The value according to the audit log: the last write with an event. Undefined if an outcome is unknown, because its request id is too. */
export function auditedValue(writes: readonly Event[], auditLog: ReadonlySet<string>): string | undefined {
  if (writes.some(({ outcome }) => outcome === "unknown" || outcome === "wrong")) return undefined;
  const last = writes.findLast(({ outcome, requestId }) => outcome === "done" && auditLog.has(requestId ?? ""));
  return last?.value ?? joinValues(viewOfKey(writes[0]?.key ?? "").names.map(() => absent));
}

/** Reads the current value. */
export type ViewReader = (view: ResourceView) => string;
/** Kind of incoming webhooks, which are stored without an audit event. */
export const received = "receive";

/** `auditLog` contains the request ids of the snapshot's audit events. */
export function finalStateFaults(
  events: readonly Event[],
  read: ViewReader,
  auditLog: ReadonlySet<string>,
  window: Window = afterwards,
): string[] {
  const own = events.filter(({ proof }) => proof === "kept");
  const faults: string[] = [];
  for (const [key, writes] of Map.groupBy(own, (event) => event.key)) {
    const seen = read(viewOfKey(key));
    const allowed = allowedValues(writes, window);
    const audited = writes[0]?.kind === received ? undefined : auditedValue(writes, auditLog);
    const what = `${writes[0]?.by} ${key}`;
    if (!allowed.has(seen)) faults.push(`${what} shows ${seen} instead of ${[...allowed].join(" or ")}`);
    else if (audited !== undefined && audited !== seen)
      faults.push(`${what} shows ${seen}, but the audit log has ${audited}`);
  }
  for (const { requestId, by, kind, key, ...event } of own)
    if (kind !== received && presenceOf(event, window) === "must" && !auditLog.has(requestId ?? ""))
      faults.push(`the audit log has no event for an acknowledged ${kind} by ${by}: ${key}`);
  return faults;
}
