/** The final state of resources that one client changed: what must be present, what can be, and every fault. */
import { describe, expect, it } from "vitest";
import type { Event } from "../../proof/history.ts";
import {
  allowedValues,
  absent,
  finalStateFaults,
  keyOfView,
  received,
  seenAt,
  type ResourceView,
  joinValues,
} from "../../proof/final-state.ts";

const view: ResourceView = { list: "/things", by: "attributes.name", names: ["one"], shows: ["attributes.color"] };
const several: ResourceView = { ...view, names: ["one", "two"] };

const write = (value: string, atMs: number, facts: Partial<Event> = {}): Event => ({
  proof: "kept",
  key: keyOfView(view),
  kind: "update",
  by: "ann",
  server: "server",
  isWrite: true,
  value,
  calledMs: atMs,
  answeredMs: atMs + 1,
  outcome: "done",
  status: 200,
  requestId: `request-${atMs}`,
  ...facts,
});

const shows = (value: string) => () => value;
const auditLog = (...atMs: readonly number[]) => new Set(atMs.map((each) => `request-${each}`));
const withoutResponse = { outcome: "unknown", requestId: undefined } as unknown as Partial<Event>;

describe("what a view shows", () => {
  const list = [
    { attributes: { name: "one", color: "red" } },
    { attributes: { name: "two", color: null } },
    { attributes: { name: "two", color: "blue" } },
  ];

  it("is the attributes of each resource, also for missing and duplicate ones", () => {
    expect(seenAt(view, list)).toBe('"red"');
    expect(seenAt({ ...view, names: ["three"] }, list)).toBe(absent);
    expect(seenAt(several, list)).toBe(joinValues(['"red"', 'null and "blue"']));
  });
});

describe("after all writes", () => {
  it("the last acknowledged value is present and in the audit log", () => {
    const events = [write("a", 0), write("b", 10)];
    expect(finalStateFaults(events, shows("b"), auditLog(0, 10))).toEqual([]);
  });

  it("a lost write is a fault, whether an earlier value or none is present", () => {
    const events = [write("a", 0), write("b", 10)];
    for (const seen of ["a", absent]) expect(finalStateFaults(events, shows(seen), auditLog(0, 10))).toHaveLength(1);
  });

  it("a refused write must not be present", () => {
    const events = [write("a", 0), write("b", 10, { outcome: "refused" })];
    expect(finalStateFaults(events, shows("a"), auditLog(0))).toEqual([]);
    expect(finalStateFaults(events, shows("b"), auditLog(0))).toHaveLength(1);
  });

  it("a write with an unknown outcome may be present, until a later one is acknowledged", () => {
    const events = [write("a", 0), write("b", 10, withoutResponse)];
    for (const seen of ["a", "b"]) expect(finalStateFaults(events, shows(seen), auditLog(0))).toEqual([]);
    expect(finalStateFaults([...events, write("c", 20)], shows("b"), auditLog(0, 20))).toHaveLength(1);
  });

  it("after a wrong or missing response the write may be present or not", () => {
    const events = [write("a", 0), write("b", 10, { outcome: "wrong", note: "no answer within 60 seconds" })];
    expect([...allowedValues(events, { fromMs: Infinity, toMs: Infinity })]).toEqual(["a", "b"]);
  });

  it("a partial atomic change is a fault", () => {
    const all = { key: keyOfView(several) };
    const [before, after] = [joinValues(["x", "x"]), joinValues(["y", "y"])];
    const events = [write(before, 0, all), write(after, 10, { ...all, ...withoutResponse })];
    expect(finalStateFaults(events, shows(after), auditLog(0))).toEqual([]);
    expect(finalStateFaults(events, shows(joinValues(["y", "x"])), auditLog(0))).toHaveLength(1);
  });

  it("an acknowledged write without an audit event is a fault, except for incoming webhooks", () => {
    const faults = finalStateFaults([write("a", 0)], shows("a"), auditLog());
    expect(faults.some((fault) => fault.startsWith("the audit log has no event for an acknowledged update"))).toBe(
      true,
    );
    expect(finalStateFaults([write("a", 0, { kind: received })], shows("a"), auditLog())).toEqual([]);
  });
});

describe("in a snapshot", () => {
  const events = [write("a", 0), write("b", 10), write("c", 20)];
  const window = { fromMs: 5, toMs: 15 };

  it("writes acknowledged before it are present, and none sent after it", () => {
    expect([...allowedValues(events, window)]).toEqual(["a", "b"]);
    expect(finalStateFaults(events, shows("a"), auditLog(0), window)).toEqual([]);
    expect(finalStateFaults(events, shows("b"), auditLog(0, 10), window)).toEqual([]);
    for (const seen of [absent, "c"])
      expect(finalStateFaults(events, shows(seen), auditLog(0, 10), window)).toHaveLength(1);
  });

  it("a document and an audit log of different times are a fault", () => {
    expect(finalStateFaults(events, shows("a"), auditLog(0, 10), window)).toEqual([
      expect.stringContaining("shows a, but the audit log has b"),
    ]);
    expect(finalStateFaults(events, shows("b"), auditLog(0), window)).toHaveLength(1);
  });
});
