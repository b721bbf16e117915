/** The checker finds every kind of fault in a history, and reports no correct response as one. */
import { describe, expect, it } from "vitest";
import { judge, judgeSilence, mediaType } from "../../proof/client.ts";
import type { Event } from "../../proof/history.ts";
import { faultsOf, figuresOf, jobFaults, leaseFaults } from "../../proof/checker.ts";

const event = (facts: Partial<Event>): Event => ({
  proof: "values",
  key: "ws-1",
  kind: "write",
  by: "ann",
  server: "server1",
  isWrite: true,
  value: "",
  calledMs: 0,
  answeredMs: 1,
  outcome: "done",
  status: 200,
  ...facts,
});
const at = (ms: number) => ({ calledMs: ms, answeredMs: ms + 1 });
const read = (value: string) => ({ kind: "read", isWrite: false, value });

describe("a history", () => {
  it("without faults has none", () => {
    const events = [event({ value: "a", ...at(0) }), event({ ...read("a"), ...at(10) })];
    expect(faultsOf({ events })).toEqual([]);
  });

  it("with a wrong response has a fault that describes it", () => {
    const events = [event({ outcome: "wrong", note: "500 oh" })];
    expect(faultsOf({ events })).toEqual(["server1 responded to write of ws-1 at 0.0 s: 500 oh"]);
  });

  it("in which an acknowledged value is lost has a fault", () => {
    const events = [event({ value: "a", ...at(0) }), event({ ...read(""), ...at(10) })];
    expect(faultsOf({ events })).toHaveLength(1);
  });

  it("in which a refused value is read has a fault", () => {
    const events = [event({ value: "a", outcome: "refused", ...at(0) }), event({ ...read("a"), ...at(10) })];
    expect(faultsOf({ events })).toHaveLength(1);
  });

  it("in which a user reads after losing access has a fault", () => {
    const access = { proof: "access", key: "team-1" };
    const seen = { ...access, kind: "read", isWrite: false };
    const events = [
      event({ ...access, value: "yes", ...at(0) }),
      event({ ...access, value: "no", ...at(10) }),
      event({ ...seen, value: "no", outcome: "declined", ...at(20) }),
    ];
    expect(faultsOf({ events })).toEqual([]);
    expect(faultsOf({ events: [...events, event({ ...seen, value: "yes", ...at(30) })] })).toHaveLength(1);
  });

  it("gives the longest time without a write", () => {
    const events = [
      event(at(0)),
      event({ ...read(""), ...at(500) }),
      event({ ...at(600), outcome: "refused" }),
      event(at(900)),
    ];
    expect(figuresOf({ events })).toMatchObject({ asked: 4, done: 3, refused: 1, unknown: 0, unavailableMs: 900 });
  });

  it("gives the slowest of 300,000 responses", () => {
    const events = Array.from({ length: 300_000 }, (_, index) => event({ calledMs: index, answeredMs: index + 2 }));
    expect(figuresOf({ events })).toMatchObject({ asked: 300_000, slowestMs: 2 });
  });
});

describe("leases", () => {
  const lease = (facts: Partial<Event>) => event({ proof: "leases", kind: "lease", ...facts });

  it("that follow each other are accepted", () => {
    expect(leaseFaults([lease(at(0)), lease({ ...at(30_500), by: "bob" })])).toEqual([]);
  });

  it("that overlap are faults", () => {
    expect(leaseFaults([lease(at(0)), lease({ ...at(20_000), by: "bob" })])).toHaveLength(1);
  });

  it("that block others after their expiry are faults", () => {
    const declined = (ms: number) => lease({ ...at(ms), by: "bob", outcome: "declined" });
    expect(leaseFaults([lease(at(0)), declined(29_000)])).toEqual([]);
    expect(leaseFaults([lease(at(0)), declined(40_000)])).toHaveLength(1);
    expect(leaseFaults([lease({ ...at(0), outcome: "unknown" }), declined(40_000)])).toEqual([]);
  });
});

describe("jobs", () => {
  const job = (facts: Partial<Event>) => event({ proof: "jobs", kind: "claim", value: "plan-1 1", ...facts });

  it("that are claimed once per attempt are accepted", () => {
    expect(jobFaults([job({}), job({ value: "plan-1 2" }), job({ value: "plan-2 1" })])).toEqual([]);
  });

  it("that are claimed or finished twice are faults", () => {
    expect(jobFaults([job({}), job({ by: "bob" })])).toEqual(["a job was claimed 2 times: plan-1 1, by ann, bob"]);
    expect(jobFaults([job({ kind: "finish", key: "plan-1" }), job({ kind: "finish", key: "plan-1" })])).toHaveLength(1);
  });
});

describe("a response", () => {
  const text = (detail: string) => JSON.stringify({ errors: [{ status: "503", detail }] });
  const retryHeaders = { "retry-after": "2", "content-type": mediaType };
  const outcomeOf = (status: number, headers: Record<string, string>, body: string) =>
    judge({ status, headers, text: body }, { done: 200, declined: [409] }).outcome;

  it("is done, declined, or a 503 that says whether the outcome is known", () => {
    expect(outcomeOf(200, {}, "")).toBe("done");
    expect(outcomeOf(409, {}, "")).toBe("declined");
    expect(outcomeOf(503, retryHeaders, text("Nothing was changed."))).toBe("refused");
    expect(outcomeOf(503, retryHeaders, text("Its outcome is unknown."))).toBe("unknown");
  });

  it("of any other kind is wrong", () => {
    expect(outcomeOf(500, retryHeaders, "")).toBe("wrong");
    expect(outcomeOf(404, {}, "")).toBe("wrong");
    expect(outcomeOf(503, {}, text("Nothing was changed."))).toBe("wrong");
    expect(outcomeOf(503, retryHeaders, "<html>")).toBe("wrong");
  });

  it("may be missing only if the server was down", () => {
    expect(judgeSilence({ code: "ECONNRESET" }, false).outcome).toBe("wrong");
    expect(judgeSilence({ code: "ECONNRESET" }, true).outcome).toBe("unknown");
    expect(judgeSilence({ code: "ECONNREFUSED" }, true).outcome).toBe("refused");
  });
});
