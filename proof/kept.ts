/**
 * What must be there afterwards: for each thing that one hand alone has changed, what was acknowledged last, or something that was asked for
 * since then and whose outcome nobody knows. Pure: events and what was seen in, faults out.
 */
import type { Event } from "./history.ts";

/** Where things can be seen: in a list, by what they are called there, and what of them tells the writes apart. */
export interface Spot {
  readonly list: string;
  readonly by: string;
  /** Several for what is changed at once: they change together or not at all. */
  readonly names: readonly string[];
  readonly shows: readonly string[];
}

/** What a document says at a path of names with dots. */
const at = (item: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, name) => (inner as Record<string, unknown> | null)?.[name], item);

/** What is seen of one thing. */
export const wordOf = (item: unknown, shows: readonly string[]): string =>
  shows.map((path) => JSON.stringify(at(item, path) ?? null)).join(" ");

/** What is seen of the things at a spot, whose list is given. */
export function seenAt({ by, names, shows }: Spot, list: readonly unknown[]): string {
  return together(
    names.map((name) => {
      const found = list.filter((item) => at(item, by) === name);
      return found.length === 0 ? gone : found.map((item) => wordOf(item, shows)).join(" and ");
    }),
  );
}

/** What is seen of a thing that is not in its list. */
export const gone = "(gone)";
/** How the words of several things stand together, in the history. */
export const together = (words: readonly string[]): string => words.join(" + ");

export const keyOfSpot = ({ list, by, names, shows }: Spot): string => JSON.stringify([list, by, names, shows]);

export function spotOfKey(key: string): Spot {
  const [list, by, names, shows] = JSON.parse(key) as [string, string, string[], string[]];
  return { list, by, names, shows };
}

/** The moment that is looked at lies somewhere between these two. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Everything is over: whatever was acknowledged is there. */
export const afterwards: Window = { fromMs: Number.POSITIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

/** Whether a write is there at a moment within the window. */
export function standingOf(
  { outcome, calledMs, answeredMs }: Pick<Event, "outcome" | "calledMs" | "answeredMs">,
  { fromMs, toMs }: Window,
): "must" | "may" | "not" {
  // A wrong answer is a fault by itself, and says nothing of what was done.
  if (outcome === "refused" || outcome === "declined") return "not";
  if (calledMs > toMs) return "not";
  return outcome === "done" && answeredMs <= fromMs ? "must" : "may";
}

/** What may be seen of a thing, whose writes are given in their order. Nothing was there before the first. */
export function allowedValues(writes: readonly Event[], window: Window): Set<string> {
  const [first] = writes;
  const nothing = together(first === undefined ? [] : spotOfKey(first.key).names.map(() => gone));
  let allowed = new Set([nothing]);
  for (const write of writes) {
    const standing = standingOf(write, window);
    if (standing === "must") allowed = new Set([write.value]);
    else if (standing === "may") allowed.add(write.value);
  }
  return allowed;
}

/**
 * What the trail of the same moment says is there: the last write that left its event. Undefined where an outcome is unknown, because then
 * nobody knows which request it was.
 */
export function toldValue(writes: readonly Event[], trail: ReadonlySet<string>): string | undefined {
  if (writes.some(({ outcome }) => outcome === "unknown" || outcome === "wrong")) return undefined;
  const last = writes.findLast(({ outcome, requestId }) => outcome === "done" && trail.has(requestId ?? ""));
  return last?.value ?? together(spotOfKey(writes[0]?.key ?? "").names.map(() => gone));
}

/** What is seen at a spot. */
export type Look = (spot: Spot) => string;
/** What others send us is kept, and no event of the trail. */
export const received = "receive";

/** `trail` are the ids of the requests that the audit trail of that moment tells of. */
export function keptFaults(
  events: readonly Event[],
  look: Look,
  trail: ReadonlySet<string>,
  window: Window = afterwards,
): string[] {
  const own = events.filter(({ proof }) => proof === "kept");
  const faults: string[] = [];
  for (const [key, writes] of Map.groupBy(own, (event) => event.key)) {
    const seen = look(spotOfKey(key));
    const allowed = allowedValues(writes, window);
    const told = writes[0]?.kind === received ? undefined : toldValue(writes, trail);
    const what = `${writes[0]?.by} ${key}`;
    if (!allowed.has(seen)) faults.push(`${what} shows ${seen} instead of ${[...allowed].join(" or ")}`);
    else if (told !== undefined && told !== seen) faults.push(`${what} shows ${seen}, but its trail tells of ${told}`);
  }
  for (const { requestId, by, kind, key, ...event } of own)
    if (kind !== received && standingOf(event, window) === "must" && !trail.has(requestId ?? ""))
      faults.push(`the trail does not tell of an acknowledged ${kind} by ${by}: ${key}`);
  return faults;
}
