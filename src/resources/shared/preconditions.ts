/** `If-Match`: refuses a change that is based on an outdated version of a resource. */
import type { Database } from "../../database/database.ts";
import type { IfMatch, ResourceDefinition } from "../../jsonapi/define.ts";
import { AppError } from "../../kernel/errors.ts";

/** The row's version, then those of what the document shows of other rows. They begin at 0; trailing zeros are left out. */
export function etagOf(definition: ResourceDefinition, view: unknown): string | undefined {
  const versions = definition.version?.(view);
  return versions === undefined
    ? undefined
    : [versions]
        .flat()
        .join(".")
        .replace(/(\.0)+$/, "");
}

export const noIfMatch: IfMatch = { check: () => {}, checkIfSent: async () => {} };

/** The database refuses to commit before the check, so that a handler without it always fails. */
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
