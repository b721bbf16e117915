/** What PostgreSQL's own errors mean to a caller: which of them are nobody's fault here, and pass. */
import { describe, expect, it } from "vitest";
import { classify, endsConnection } from "../../src/database/engines/postgres-failures.ts";
import { toAppError } from "../../src/database/engines/transactions.ts";

const said = (code: string) => ({ severity: "ERROR", code, message: "said the database" });

describe("what the database says", () => {
  it.each([
    ["53100", "its disk is full"],
    ["58030", "its disk can't be read or written"],
    ["58P01", "a file of it is gone"],
    ["25006", "it has become a follower"],
    ["57P03", "it is starting"],
  ])("%s: 503, because %s", (code) => {
    const error = said(code);
    expect(toAppError(error, classify(error))).toMatchObject({
      code: "unavailable",
      retryAfterSeconds: expect.any(Number),
    });
  });

  it("makes nothing of what it does not know", () => {
    const error = said("XX000");
    expect(toAppError(error, classify(error))).toBe(error);
  });

  it("ends a connection to what has become a follower, which would tell what is old", () => {
    expect(endsConnection(said("25006"))).toBe(true);
    expect(endsConnection(said("53100"))).toBe(false);
  });
});
