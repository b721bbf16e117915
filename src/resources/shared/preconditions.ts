/** `If-Match`: refuses a change that is based on an outdated version of a resource. */
import type { Database } from "../../database/database.ts";
import type { IfMatch, ResourceDefinition } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";

/**
 * The strong validator of a document, without quotes: its row's version, then the versions of what it shows of other rows. Those
 * begin at 0, and trailing zeros are left out.
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

/** For calls inside the service, which have no headers. */
export const noIfMatch: IfMatch = { check: () => {}, checkIfSent: async () => {} };

/**
 * The `If-Match` of one request, and a database that refuses to commit before it was checked, even if the header was not sent, so
 * that a handler without the check always fails. `sent`: the validators, without quotes.
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
      if (!isChecked) throw new Error(`${operationId} accepts If-Match, but its handler did not check it`);
      return result;
    }, options);
  return { database: { ...database, write }, ifMatch };
}

const stale = (): AppError =>
  new AppError(
    "precondition-failed",
    "The resource has changed since you read it (If-Match does not match its ETag). Read it again, then repeat your change.",
  );
