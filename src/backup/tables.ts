/**
 * Which tables a register has, in an order in which rows can be loaded: a table is created after those that it refers to,
 * so the order of creation is one. Derived from the migrations, so that a new table is never forgotten.
 */
import { migrations } from "../database/migrate.ts";
import type { Migration } from "../database/migrations/migration.ts";

/** Made by the migrations' own bookkeeping, not by a migration. */
const bookkeeping = "migrations";

/** Tables that a freshly migrated database has rows in; a backup's rows take their place. */
export const tablesFilledFromStart: readonly string[] = [bookkeeping, "meta", "engine_versions"];

/** Kept by triggers; a register that is loaded makes its own. */
export const keptByTriggers: readonly string[] = ["access_versions"];

/** The names in SQL of the tables that a database with these migrations has. */
export function tablesAfter(applied: readonly string[], known: readonly Migration[] = migrations): string[] {
  const tables = new Set([bookkeeping]);
  for (const migration of known.filter(({ name }) => applied.includes(name))) {
    for (const statement of migration.statements) {
      const [, verb, table = "", newName = ""] =
        /^\s*(CREATE|DROP|ALTER) TABLE (?:IF (?:NOT )?EXISTS )?(\w+)(?: RENAME TO (\w+))?/i.exec(statement) ?? [];
      if (verb === undefined) continue;
      if (verb.toUpperCase() === "CREATE") tables.add(table);
      if (verb.toUpperCase() === "DROP" || newName !== "") tables.delete(table);
      if (newName !== "") tables.add(newName);
    }
  }
  return [...tables].filter((table) => !keptByTriggers.includes(table));
}
