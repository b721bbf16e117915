/** The classification of PostgreSQL's errors: which are temporary, and what the caller gets. */
import { describe, expect, it } from "vitest";
import { classify, endsConnection } from "../../src/database/engines/postgres-failures.ts";
import { toAppError } from "../../src/database/engines/transactions.ts";

const errorWith = (code: string) => ({ severity: "ERROR", code, message: "an error of the database" });

describe("classify", () => {
  it.each([
    ["53100", "its disk is full"],
    ["58030", "its disk can't be read or written"],
    ["58P01", "one of its files is missing"],
    ["25006", "it has become a standby"],
    ["57P03", "it is starting"],
  ])("%s: 503, because %s", (code) => {
    const error = errorWith(code);
    expect(toAppError(error, classify(error))).toMatchObject({
      code: "unavailable",
      retryAfterSeconds: expect.any(Number),
    });
  });

  it("leaves unknown errors as they are", () => {
    const error = errorWith("XX000");
    expect(toAppError(error, classify(error))).toBe(error);
  });

  it("ends the connection to a server that has become a standby, which may lag behind", () => {
    expect(endsConnection(errorWith("25006"))).toBe(true);
    expect(endsConnection(errorWith("53100"))).toBe(false);
  });
});
