/**
 * The current time as a parameter, read from this server's clock when the statement runs, so that compiled statements use the
 * current time, the same throughout a statement.
 */
import { type RawBuilder, sql } from "kysely";

const marker = { means: "the present" } as const;

export const nowParameter: RawBuilder<string> = sql<string>`${marker}`;

export const isNowParameter = (value: unknown): boolean => value === marker;
