/** Opens the register that the settings name: database, schema, key, first admin. Shared by the server and the command line. */
import { resolve } from "node:path";
import type { Database } from "./database/database.ts";
import { openDatabase } from "./database/engines/open.ts";
import { migrate } from "./database/migrate.ts";
import { checkVault, createVault, keyBeside, type Vault } from "./database/vault.ts";
import { AppError } from "./kernel/errors.ts";
import { newToken } from "./kernel/ids.ts";
import { addToken } from "./resources/authentication-tokens/writes.ts";
import type { Context } from "./resources/shared/context.ts";
import { addUser } from "./resources/users/writes.ts";
import { SettingError, type Settings } from "./settings.ts";

export interface Register {
  readonly database: Database;
  readonly vault: Vault;
  /** Migrations that this opening applied. */
  readonly migrated: readonly string[];
}

/** Raises SettingError or AppError, each with a sentence for the person who starts it. */
export async function openRegister(settings: Settings): Promise<Register> {
  const key = encryptionKey(settings);
  const database = open(settings.database);
  try {
    const migrated = await migrate(database);
    const vault = createVault(key);
    await checkVault(database, vault);
    return { database, vault, migrated };
  } catch (error) {
    await database.close();
    if (error instanceof AppError && error.code === "unavailable") throw unreachable(settings, error.internal);
    throw error;
  }
}

/** The path of the embedded database; undefined for PostgreSQL. */
export function sqlitePath(settings: Settings): string | undefined {
  return settings.database.startsWith("sqlite:") ? resolve(settings.database.slice("sqlite:".length)) : undefined;
}

function open(address: string): Database {
  try {
    return openDatabase(address);
  } catch (error) {
    throw new SettingError(
      `The database ${address} can't be opened (${(error as Error).message}). Check CADASTRE_DATABASE and the folder's permissions.`,
    );
  }
}

function encryptionKey(settings: Settings): Uint8Array {
  if (settings.encryptionKey !== undefined) return settings.encryptionKey;
  const path = sqlitePath(settings);
  if (path === undefined)
    throw new SettingError(
      "CADASTRE_ENCRYPTION_KEY is required with PostgreSQL: every server needs the same. Make one with 'openssl rand -hex 32' and keep it safe.",
    );
  try {
    return keyBeside(path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new SettingError(
      `The folder of the database ${path} can't be used (${(error as Error).message}). Check CADASTRE_DATABASE and the folder's permissions.`,
    );
  }
}

function unreachable(settings: Settings, cause: unknown): SettingError {
  const reason = cause instanceof Error ? ` (${cause.message || (cause as NodeJS.ErrnoException).code})` : "";
  return new SettingError(
    `The database ${withoutPassword(settings.database)} can't be reached${reason}. Check CADASTRE_DATABASE, and that the database is running.`,
  );
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/([^:@/]*):[^@/]*@/, "//$1:…@");
}

/** The operator at the machine, as a caller. */
export function operatorContext(
  database: Database,
  settings: Pick<Settings, "organizationCreation">,
  requestId: string,
): Context {
  return {
    actor: { kind: "operator" },
    database,
    options: { organizationCreation: settings.organizationCreation },
    requestId,
  };
}

/** On an empty register: a first site admin, with a token that is returned once. Undefined when there are users already. */
export async function ensureFirstAdmin(database: Database, settings: Settings): Promise<string | undefined> {
  const secret = settings.adminToken ?? newToken();
  return database.write(async (tx) => {
    // Two servers that start together: the unique name lets only one of them add the admin, and the other retries into this.
    const someone = await tx.db.selectFrom("users").select("id").limit(1).executeTakeFirst();
    if (someone !== undefined) return undefined;
    const context = operatorContext(database, settings, "first-start");
    const admin = await addUser(tx, context, { username: "admin", email: "admin@localhost", isSiteAdmin: true });
    await addToken(tx, context, {
      holder: { kind: "user", userId: admin.id },
      isLegacy: false,
      description: "Made on the first start",
      secret,
    });
    return secret;
  });
}
