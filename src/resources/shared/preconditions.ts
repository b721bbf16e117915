/** `If-Match`: a change that was decided on an old version of a thing is refused. */
import type { IfMatch, ResourceDefinition } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";

/**
 * The strong validator of a document, without its quotes: its row's version, followed by those of what it shows of other
 * rows. They begin at 0 and are left out at the end until something of theirs has changed.
 */
export function etagOf(definition: ResourceDefinition, view: unknown): string | undefined {
  const versions = definition.version?.(view);
  return versions === undefined
    ? undefined
    : [versions]
        .flat()
        .join(".")
        .replace(/(\.0)+$/, "");
}

/** Call after the caller's right was checked, inside the transaction. Raises `precondition-failed`. */
export function checkIfMatch(
  ifMatch: IfMatch,
  definition: ResourceDefinition,
  view: { readonly version: number },
): void {
  if (ifMatch === undefined || ifMatch.includes("*") || ifMatch.includes(etagOf(definition, view) ?? "")) return;
  throw new AppError(
    "precondition-failed",
    "It was changed since you read it (If-Match does not fit its ETag). Read it again, then repeat your change.",
  );
}
