/** The current time as a parameter that is read when the statement runs, so that compiled statements can use it. */
import { type RawBuilder, sql } from "kysely";

const marker = { means: "current time" } as const;

export const nowParameter: RawBuilder<string> = sql<string>`${marker}`;

export const isNowParameter = (value: unknown): boolean => value === marker;
