/** `If-Match`: a change that was decided on an old version of a thing is refused. */
import type { Database } from "../../database/database.ts";
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

/** For callers inside the service, who send no headers. */
export const noIfMatch: IfMatch = { check: () => {}, checkIfSent: async () => {} };

/**
 * The `If-Match` of one request, and a database that refuses to commit before it was checked, also where the header was not sent: so a
 * handler that forgets it fails whatever calls it. `sent` are the validators without their quotes.
 */
export function requireIfMatch(
  database: Database,
  operationId: string,
  target: ResourceDefinition,
  sent: readonly string[] | undefined,
): { readonly database: Database; readonly ifMatch: IfMatch } {
  let isChecked = false;
  const ifMatch: IfMatch = {
    check(view) {
      isChecked = true;
      if (sent === undefined || view === undefined || sent.includes("*")) return;
      if (!sent.includes(etagOf(target, view) ?? "")) throw stale();
    },
    async checkIfSent(load) {
      ifMatch.check(sent && (await load()));
    },
  };
  const write: Database["write"] = (work, options) =>
    database.write(async (tx) => {
      isChecked = false;
      const result = await work(tx);
      if (!isChecked) throw new Error(`${operationId} takes If-Match, and its handler did not check it`);
      return result;
    }, options);
  return { database: { ...database, write }, ifMatch };
}

const stale = (): AppError =>
  new AppError(
    "precondition-failed",
    "It was changed since you read it (If-Match does not fit its ETag). Read it again, then repeat your change.",
  );
