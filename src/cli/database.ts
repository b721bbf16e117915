/** Opens the database that the settings name, and runs a command's work on it as the operator. */
import { randomUUID } from "node:crypto";
import type { Tx } from "../database/database.ts";
import { migrations } from "../database/migrate.ts";
import { conflict } from "../kernel/errors.ts";
import type { Context } from "../resources/shared/context.ts";
import { openExisting, operatorContext, type PreparedRegister } from "../service.ts";
import type { Settings } from "../settings.ts";

export const databaseSettings = ["database", "encryptionKey"] as const satisfies readonly (keyof Settings)[];

export async function readDatabase<T>(settings: Settings, work: (tx: Tx) => Promise<T>): Promise<T> {
  return withDatabase(settings, ({ database }) => work(database.reader));
}

export async function writeDatabase<T>(
  settings: Settings,
  work: (tx: Tx, context: Omit<Context, "vault">) => Promise<T>,
): Promise<T> {
  return withDatabase(settings, ({ database }) => {
    const context = operatorContext(database, settings, `cli-${randomUUID()}`);
    return database.write((tx) => work(tx, context));
  });
}

/** For more than one transaction. Requires an existing, up-to-date database. */
export async function withDatabase<T>(
  settings: Settings,
  work: (register: Pick<PreparedRegister, "database" | "vault">) => Promise<T>,
): Promise<T> {
  const { database, vault, applied } = await openExisting(settings);
  try {
    refuseOlder(applied);
    return await work({ database, vault });
  } finally {
    await database.close();
  }
}

/** Migrating would change the schema under running servers of an older version. Throws `conflict`. */
function refuseOlder(applied: readonly string[]): void {
  const missing = migrations.map((migration) => migration.name).filter((name) => !applied.includes(name));
  if (missing.length > 0)
    throw conflict(
      `The database has the schema of an older version of Cadastre (missing migrations: ${missing.join(", ")}). Stop the servers that use it and run 'cadastre migrate', or use that older version.`,
    );
}
