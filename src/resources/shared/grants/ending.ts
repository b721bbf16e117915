/** What may be said with access that is given: until when, and for what. The same for records of team access and for places in teams. */
import { type RawBuilder, sql } from "kysely";
import { z } from "zod";
import { text, timestamp } from "../../../jsonapi/schemas.ts";
import type { Fault } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { forEver } from "./in-force.ts";

export interface Ending {
  /** The moment from which on it gives nothing; null for ever. */
  readonly expiresAt: string | null;
  readonly reason: string | null;
}

/** What a body says of it; what it leaves out stays as it is. */
export type SentEnding = { readonly [Name in keyof Ending]?: Ending[Name] | undefined };

export const endingAfter = (before: Ending, { expiresAt, reason }: SentEnding): Ending => ({
  expiresAt: expiresAt === undefined ? before.expiresAt : expiresAt,
  reason: reason === undefined ? before.reason : reason,
});

/** Of a place in a team, by what the statement calls it: why somebody has it, where a group at a provider gave it. */
export const groupOfPlace = (table: string): RawBuilder<string | null> =>
  sql<string | null>`case when ${sql.ref(`${table}.ssoProviderId`)} is not null then ${sql.ref(`${table}.reason`)} end`;

export const lasting: Ending = { expiresAt: null, reason: null };

export const endSchema = timestamp().nullable();
export const endDoc =
  "The moment at which the access ends by itself; null for ever. It can be changed until then, and what has ended can be given anew.";
export const reasonSchema = text({
  max: 1024,
  // Statements put reasons and other things into one text, with such characters between them.
  // oxlint-disable-next-line no-control-regex
  pattern: /^[^\u0000-\u0008\u000b\u000c\u000e-\u001f]*$/,
  sentence: "may not contain control characters",
}).nullable();
export const reasonDoc = "What the access was given for.";

/** Something can only be given until a moment that is still to come. */
export function endFaults(expiresAt: string | null | undefined, pointer = "/data/attributes/expires-at"): Fault[] {
  if (expiresAt === undefined || expiresAt === null || expiresAt > now()) return [];
  const detail = `Expires at must be in the future: ${expiresAt} has passed. To end access now, delete it`;
  return [{ pointer, detail }];
}

/** The end as a moment that can be compared: what lasts for ever ends after everything else. */
export const endOf = ({ expiresAt }: Pick<Ending, "expiresAt">): string => expiresAt ?? forEver;

/** As the `meta` of a link that gives access: what is left out of it stays as it is. */
export const endingMeta = z
  .object({ "expires-at": endSchema.optional(), reason: reasonSchema.optional() })
  .superRefine(({ "expires-at": expiresAt }, context) => {
    for (const { detail } of endFaults(expiresAt))
      context.addIssue({ code: "custom", path: ["expires-at"], message: detail.replace(/^Expires at /, "") });
  })
  .transform(({ "expires-at": expiresAt, reason }): SentEnding => ({ expiresAt, reason }));

/** The same as it is shown, where there is anything to show. */
export function shownEnding(ending: Ending | undefined): object | undefined {
  if (ending === undefined || (ending.expiresAt === null && ending.reason === null)) return undefined;
  return { "expires-at": ending.expiresAt, reason: ending.reason };
}
