import type { Database } from "../database.ts";
import { openPostgres, type PostgresLimits } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

/** Does not wait for PostgreSQL. */
export function openDatabase(address: string, limits?: Partial<PostgresLimits>): Database {
  return address.startsWith("sqlite:") ? openSqlite(address.slice("sqlite:".length)) : openPostgres(address, limits);
}
