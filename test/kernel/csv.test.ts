import { describe, expect, it } from "vitest";
import { csvLines } from "../../src/kernel/csv.ts";

describe("csvLines", () => {
  it("separates cells by commas, ends lines with CRLF, and writes nothing for null", () => {
    expect(csvLines([["a", 1, true, null], [false]])).toBe("a,1,true,\r\nfalse\r\n");
    expect(csvLines([])).toBe("");
  });

  it("quotes cells with commas, quotes or line breaks", () => {
    expect(csvLines([["a,b", 'say "no"', "two\nlines", "ü plain"]])).toBe(
      '"a,b","say ""no""","two\nlines",ü plain\r\n',
    );
  });

  it.each(["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "＝1"])(
    "escapes %j, which a spreadsheet would evaluate as a formula",
    (text) => {
      expect(csvLines([[text]])).toMatch(/^"?'/);
    },
  );

  it("leaves numbers unchanged, also negative ones", () => {
    expect(csvLines([[-1, "a-1"]])).toBe("-1,a-1\r\n");
  });
});
