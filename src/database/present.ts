/**
 * The present as a value of a statement. It is read off this server's clock when the statement runs, so that it also means
 * the right moment in one that was compiled long ago; and once for a statement, however often that asks.
 */
import { type RawBuilder, sql } from "kysely";

const marker = { means: "the present" } as const;

/** This instant, as it is stored. */
export const present: RawBuilder<string> = sql<string>`${marker}`;

export const isPresent = (value: unknown): boolean => value === marker;
