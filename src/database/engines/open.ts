/** The address of a database → the engine that serves it. */
import type { Database } from "../database.ts";
import { openPostgres, type PostgresLimits } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

/** `sqlite:PATH` or `postgres://…`; settings have checked the form. Only PostgreSQL has to be waited for. */
export function openDatabase(address: string, limits?: Partial<PostgresLimits>): Database {
  return address.startsWith("sqlite:") ? openSqlite(address.slice("sqlite:".length)) : openPostgres(address, limits);
}
