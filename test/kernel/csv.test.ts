import { describe, expect, it } from "vitest";
import { csvLines } from "../../src/kernel/csv.ts";

describe("csvLines", () => {
  it("cells between commas, lines that end in CRLF, nothing for null", () => {
    expect(csvLines([["a", 1, true, null], [false]])).toBe("a,1,true,\r\nfalse\r\n");
    expect(csvLines([])).toBe("");
  });

  it("quotes around what has commas, quotes or ends of lines in it", () => {
    expect(csvLines([["a,b", 'say "no"', "two\nlines", "ü plain"]])).toBe(
      '"a,b","say ""no""","two\nlines",ü plain\r\n',
    );
  });

  it.each(["=1+1", "+1", "-1", "@sum", "\tx", "\rx", "＝1"])("%j is no formula to a spreadsheet", (text) => {
    expect(csvLines([[text]])).toMatch(/^"?'/);
  });

  it("numbers stay numbers, also below zero", () => {
    expect(csvLines([[-1, "a-1"]])).toBe("-1,a-1\r\n");
  });
});
