/** How a command works on the register that the settings name: opened, used as the operator, and closed again. */
import { randomUUID } from "node:crypto";
import type { Tx } from "../database/database.ts";
import { migrations } from "../database/migrate.ts";
import { conflict } from "../kernel/errors.ts";
import type { Context } from "../resources/shared/context.ts";
import { openExisting, operatorContext, type Register } from "../service.ts";
import type { Settings } from "../settings.ts";

/** The settings that every command which opens the register takes as flags. */
export const registerSettings = ["database", "encryptionKey"] as const satisfies readonly (keyof Settings)[];

/** Reads from a register that is there already and is up to date. */
export async function reading<T>(settings: Settings, work: (tx: Tx) => Promise<T>): Promise<T> {
  return withRegister(settings, ({ database }) => work(database.reader));
}

/** Changes it, in one transaction that leaves its audit events in the operator's name. */
export async function writing<T>(
  settings: Settings,
  work: (tx: Tx, context: Omit<Context, "vault">) => Promise<T>,
): Promise<T> {
  return withRegister(settings, ({ database }) => {
    const context = operatorContext(database, settings, `cli-${randomUUID()}`);
    return database.write((tx) => work(tx, context));
  });
}

/** For what is more than one transaction. */
export async function withRegister<T>(
  settings: Settings,
  work: (register: Pick<Register, "database" | "vault">) => Promise<T>,
): Promise<T> {
  const { database, vault, applied } = await openExisting(settings);
  try {
    refuseOlder(applied);
    return await work({ database, vault });
  } finally {
    await database.close();
  }
}

/** A look at the users must not change the schema under servers of an older version. Raises `conflict`. */
function refuseOlder(applied: readonly string[]): void {
  const missing = migrations.map((migration) => migration.name).filter((name) => !applied.includes(name));
  if (missing.length > 0)
    throw conflict(
      `The database was made by an older version of Cadastre (it lacks ${missing.join(", ")}). Stop the servers that use it and run 'cadastre migrate' first, or use that version.`,
    );
}
