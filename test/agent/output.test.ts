/** Parsing of an engine's output. */
import { describe, expect, it } from "vitest";
import { countsOfPlan, EngineOutputReader } from "../../src/agent/output.ts";

describe("an engine's output", () => {
  const read = (...chunks: string[]) => {
    const output = new EngineOutputReader();
    for (const chunk of chunks) output.write(Buffer.from(chunk));
    output.end();
    return output;
  };

  it.each([
    ["Plan: 1 to add, 2 to change, 3 to destroy.\n", [1, 2, 3, 0, 0]],
    ["\u001b[1mPlan:\u001b[0m 4 to import, 1 to add, 2 to change, 3 to destroy.\n", [1, 2, 3, 4, 0]],
    ["Apply complete! Resources: 1 added, 2 changed, 3 destroyed.\n", [1, 2, 3, 0, 0]],
    ["Apply complete! Resources: 5 imported, 1 added, 2 changed, 3 destroyed.", [1, 2, 3, 5, 0]],
    ["Destroy complete! Resources: 3 destroyed.\n", [0, 0, 3, 0, 0]],
    [
      '{"type":"change_summary","changes":{"add":1,"change":0,"import":2,"remove":3,"operation":"apply"}}\n',
      [1, 0, 3, 2, 0],
    ],
    [
      '{"type":"apply_complete","hook":{"action":"create"}}\n{"type":"apply_complete","hook":{"action":"delete"}}\n',
      [1, 0, 1, 0, 0],
    ],
    ["a.b: Creation complete after 0s\nc.d: Modifications complete after 1s [id=1]\n", [1, 1, 0, 0, 0]],
    ["a.b (local-exec): Apply complete! Resources: 9 added, 9 changed, 9 destroyed.\n", [0, 0, 0, 0, 0]],
    ["{not json\n", [0, 0, 0, 0, 0]],
    [
      '{"type":"change_summary","changes":{"add":1,"change":0,"remove":0,"action_invocation":2,"operation":"plan"}}\n',
      [1, 0, 0, 0, 2],
    ],
    ["Plan: 1 to add, 0 to change, 0 to destroy. Actions: 2 to invoke.\n", [1, 0, 0, 0, 2]],
    [
      "\u001b[1m\u001b[32mApply complete! Resources: 1 added, 0 changed, 0 destroyed.\u001b[1m\u001b[32m Actions: 2 invoked.\n",
      [1, 0, 0, 0, 2],
    ],
    ["Destroy complete! Resources: 1 destroyed. Actions: 2 invoked.\n", [0, 0, 1, 0, 2]],
    ['{"type":"action_complete","hook":{"action":"action.a.b"}}\n', [0, 0, 0, 0, 1]],
    ["Action complete: action.a.b (triggered by c.d)\n", [0, 0, 0, 0, 1]],
  ])("has counts: %j", (text, [additions, changes, destructions, imports, invocations]) => {
    expect(read(text).counts).toEqual({ additions, changes, destructions, imports, invocations });
    expect(read(...text).counts).toEqual({ additions, changes, destructions, imports, invocations });
  });

  it("contains its first error", () => {
    expect(read("╷\n│ \u001b[31mError: \u001b[0mno such thing\n│ Error: second\n").error).toBe("no such thing");
    expect(
      read(
        '{"type":"diagnostic","diagnostic":{"severity":"warning","summary":"w"}}\n{"type":"diagnostic","diagnostic":{"severity":"error","summary":"s","detail":"d"}}\n',
      ).error,
    ).toBe("s: d");
    expect(read("fine\n").error).toBeUndefined();
  });

  it("counts a replacement twice", () => {
    const change = (...actions: string[]) => ({ change: { actions } });
    expect(
      countsOfPlan({
        resource_changes: [
          change("create"),
          change("delete", "create"),
          change("no-op"),
          change("update"),
          change("read"),
          { change: { actions: ["no-op"], importing: { id: "x" } } },
        ],
        action_invocations: [{ address: "action.a.b" }, { address: "action.a.b" }],
      }),
    ).toEqual({ additions: 2, changes: 1, destructions: 1, imports: 1, invocations: 2 });
    expect(countsOfPlan({})).toEqual({ additions: 0, changes: 0, destructions: 0, imports: 0, invocations: 0 });
  });
});
