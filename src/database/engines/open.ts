/** Opens the engine for a database's address. */
import type { Database } from "../database.ts";
import { openPostgres, type PostgresLimits } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

export function openDatabase(address: string, limits?: Partial<PostgresLimits>): Database {
  return address.startsWith("sqlite:") ? openSqlite(address.slice("sqlite:".length)) : openPostgres(address, limits);
}
