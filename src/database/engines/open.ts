/** The address of a database → the engine that serves it. */
import type { Database } from "../database.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

/** `sqlite:PATH` or `postgres://…`; settings have checked the form. */
export function openDatabase(address: string): Database {
  return address.startsWith("sqlite:") ? openSqlite(address.slice("sqlite:".length)) : openPostgres(address);
}
