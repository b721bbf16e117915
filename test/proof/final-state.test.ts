/** The final state of resources that one client changed: what must be present, what can be, and every fault. */
import { describe, expect, it } from "vitest";
import type { Event } from "../../proof/history.ts";
import {
  allowedValues,
  gone,
  finalStateFaults,
  keyOfView,
  received,
  seenAt,
  type ResourceView,
  together,
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
const trail = (...atMs: readonly number[]) => new Set(atMs.map((each) => `request-${each}`));
const unanswered = { outcome: "unknown", requestId: undefined } as unknown as Partial<Event>;

describe("what a view shows", () => {
  const list = [
    { attributes: { name: "one", color: "red" } },
    { attributes: { name: "two", color: null } },
    { attributes: { name: "two", color: "blue" } },
  ];

  it("is what each thing shows, with what is not there, and what is there twice", () => {
    expect(seenAt(view, list)).toBe('"red"');
    expect(seenAt({ ...view, names: ["three"] }, list)).toBe(gone);
    expect(seenAt(several, list)).toBe(together(['"red"', 'null and "blue"']));
  });
});

describe("afterwards", () => {
  it("the last acknowledged value is there, and its trail tells of it", () => {
    const events = [write("a", 0), write("b", 10)];
    expect(finalStateFaults(events, shows("b"), trail(0, 10))).toEqual([]);
  });

  it("a lost write is a fault: an earlier value, or none", () => {
    const events = [write("a", 0), write("b", 10)];
    for (const seen of ["a", gone]) expect(finalStateFaults(events, shows(seen), trail(0, 10))).toHaveLength(1);
  });

  it("what was refused must not be seen", () => {
    const events = [write("a", 0), write("b", 10, { outcome: "refused" })];
    expect(finalStateFaults(events, shows("a"), trail(0))).toEqual([]);
    expect(finalStateFaults(events, shows("b"), trail(0))).toHaveLength(1);
  });

  it("what nobody knows of may be seen or not, until something is acknowledged again", () => {
    const events = [write("a", 0), write("b", 10, unanswered)];
    for (const seen of ["a", "b"]) expect(finalStateFaults(events, shows(seen), trail(0))).toEqual([]);
    expect(finalStateFaults([...events, write("c", 20)], shows("b"), trail(0, 20))).toHaveLength(1);
  });

  it("a wrong answer, or none in time, says nothing of what was done", () => {
    const events = [write("a", 0), write("b", 10, { outcome: "wrong", note: "no answer within 60 seconds" })];
    expect([...allowedValues(events, { fromMs: Infinity, toMs: Infinity })]).toEqual(["a", "b"]);
  });

  it("half of what changes together is a fault", () => {
    const all = { key: keyOfView(several) };
    const [before, after] = [together(["x", "x"]), together(["y", "y"])];
    const events = [write(before, 0, all), write(after, 10, { ...all, ...unanswered })];
    expect(finalStateFaults(events, shows(after), trail(0))).toEqual([]);
    expect(finalStateFaults(events, shows(together(["y", "x"])), trail(0))).toHaveLength(1);
  });

  it("an acknowledged write without its event is a fault, but for what others send us", () => {
    const faults = finalStateFaults([write("a", 0)], shows("a"), trail());
    expect(faults.some((fault) => fault.startsWith("the trail does not tell of an acknowledged update"))).toBe(true);
    expect(finalStateFaults([write("a", 0, { kind: received })], shows("a"), trail())).toEqual([]);
  });
});

describe("at a moment", () => {
  const events = [write("a", 0), write("b", 10), write("c", 20)];
  const window = { fromMs: 5, toMs: 15 };

  it("what was acknowledged before it is there, and nothing that was asked for after it", () => {
    expect([...allowedValues(events, window)]).toEqual(["a", "b"]);
    expect(finalStateFaults(events, shows("a"), trail(0), window)).toEqual([]);
    expect(finalStateFaults(events, shows("b"), trail(0, 10), window)).toEqual([]);
    for (const seen of [gone, "c"]) expect(finalStateFaults(events, shows(seen), trail(0, 10), window)).toHaveLength(1);
  });

  it("a document and a trail of different moments are a fault", () => {
    expect(finalStateFaults(events, shows("a"), trail(0, 10), window)).toEqual([
      expect.stringContaining("shows a, but its trail tells of b"),
    ]);
    expect(finalStateFaults(events, shows("b"), trail(0), window)).toHaveLength(1);
  });
});
