/** `If-Match`: a change that was decided on an old version of a thing is refused. */
import type { IfMatch } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";

/** The strong validator of a version, without its quotes. */
export const etagOf = (version: number): string => String(version);

/** Call after the caller's right was checked, inside the transaction. Raises `precondition-failed`. */
export function checkIfMatch(ifMatch: IfMatch, row: { readonly version: number }): void {
  if (ifMatch === undefined || ifMatch.includes("*") || ifMatch.includes(etagOf(row.version))) return;
  throw new AppError(
    "precondition-failed",
    "It was changed since you read it (If-Match does not fit its ETag). Read it again, then repeat your change.",
  );
}
