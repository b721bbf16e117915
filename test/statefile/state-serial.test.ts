/** Replacing the serial of a streamed state: whatever the chunk boundaries, only the number changes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SerialRewriter } from "../../src/statefile/state-head.ts";
import { deep, seed } from "../support/depth.ts";

function renumbered(text: string, serial: number, cut: number): string {
  const renumbering = new SerialRewriter(serial);
  const bytes = Buffer.from(text);
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += cut) {
    // Each piece in its own buffer, not at its beginning.
    const own = Buffer.concat([Buffer.from("xy"), bytes.subarray(start, start + cut)]);
    pieces.push(...renumbering.write(own.subarray(2)).map((piece) => Buffer.from(piece)));
  }
  return Buffer.concat(pieces).toString();
}

describe("Renumbering", () => {
  it("changes the serial of the state, not one inside it, and keeps every other byte", () => {
    const state =
      '{\n  "version": 4,"serial" : 17 ,"é":{"serial":17},"resources":[{"serial":17}], "x":"\\"serial\\":17"}\n';
    const expected = state.replace('"serial" : 17 ', '"serial" : 1000 ');
    for (let cut = 1; cut <= Buffer.byteLength(state); cut += 1) expect(renumbered(state, 1000, cut)).toBe(expected);
  });

  it("also if it comes last, or is longer than before", () => {
    expect(renumbered('{"serial":9007199254740990}', 3, 5)).toBe('{"serial":3}');
    expect(renumbered('{"a":1,"serial":0}', 123_456, 3)).toBe('{"a":1,"serial":123456}');
  });

  it("of any object the same as parsing and writing it", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(object, fc.nat(), fc.nat(), fc.integer({ min: 1, max: 40 }), (rest, before, after, cut) => {
        const state = { ...rest, serial: before };
        expect(renumbered(JSON.stringify(state), after, cut)).toBe(JSON.stringify({ ...state, serial: after }));
      }),
      { numRuns: deep(200, 5000), seed },
    );
  });
});
