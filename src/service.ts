/** Opens the register that the settings name: database, schema, key, first admin. Shared by the server and the command line. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import type { Database, Tx } from "./database/database.ts";
import { openDatabase } from "./database/engines/open.ts";
import { migrate, refuseNewer, setUp } from "./database/migrate.ts";
import { checkVault, createVault, keyBeside, keyPathBeside, type Vault } from "./database/vault.ts";
import { AppError } from "./kernel/errors.ts";
import { newToken } from "./kernel/ids.ts";
import { newPassword } from "./kernel/passwords.ts";
import { addToken } from "./resources/identity/authentication-tokens/writes.ts";
import { neighbours } from "./resources/index.ts";
import { passwordFaults } from "./resources/identity/sessions/strength.ts";
import { newPasswordOf, setPassword } from "./resources/identity/sessions/writes.ts";
import { administered, requireSiteAdmin } from "./resources/shared/administration.ts";
import type { Context } from "./resources/shared/context.ts";
import { addUser } from "./resources/identity/users/writes.ts";
import { SettingError } from "./kernel/settings.ts";
import { type Settings } from "./settings.ts";

export interface Register {
  readonly database: Database;
  readonly vault: Vault;
  /** Migrations that this opening applied. */
  readonly migrated: readonly string[];
}

/** Raises SettingError or AppError, each with a sentence for the person who starts it. */
export async function openRegister(settings: Settings): Promise<Register> {
  const vault = createVault(encryptionKey(settings));
  return opening(settings, async (database) => {
    const migrated = await migrate(database);
    await checkVault(database, vault);
    return { database, vault, migrated };
  });
}

export interface ExistingRegister extends Omit<Register, "migrated"> {
  /** Migrations that it has, in their order; all known to this version. */
  readonly applied: readonly string[];
}

/** Opens a register as it is: makes none and migrates nothing. Raises SettingError or AppError, each with a sentence. */
export async function openExisting(settings: Settings): Promise<ExistingRegister> {
  const path = sqlitePath(settings);
  if (path !== undefined && !holdsData(path)) throw noRegister(settings);
  const vault = createVault(encryptionKey(settings));
  return opening(settings, async (database) => {
    const applied = await appliedMigrations(database, settings);
    await checkVault(database, vault);
    return { database, vault, applied };
  });
}

/** Opens the database for a register that is about to be written whole: migrated, with whatever it holds left alone. */
export async function openTarget(settings: Settings): Promise<Database> {
  return opening(settings, async (database) => {
    await migrate(database);
    return database;
  });
}

/** Closes the database again where `prepare` fails. */
async function opening<T>(settings: Settings, prepare: (database: Database) => Promise<T>): Promise<T> {
  const database = open(settings.database);
  try {
    return await prepare(database);
  } catch (error) {
    await database.close();
    if (error instanceof AppError && error.code === "unavailable") throw unreachable(settings, error.internal);
    throw error;
  }
}

async function appliedMigrations(database: Database, settings: Settings): Promise<string[]> {
  let applied: string[];
  try {
    const rows = await database.reader.db.selectFrom("migrations").select("name").orderBy("name").execute();
    applied = rows.map((row) => row.name);
  } catch (error) {
    // The two engines' words for a table that is not there.
    if (/no such table|does not exist/.test((error as Error).message)) throw noRegister(settings);
    throw error;
  }
  refuseNewer(applied);
  return applied;
}

function noRegister(settings: Settings): SettingError {
  return new SettingError(
    `There is no register in ${withoutPassword(settings.database)} yet. Check CADASTRE_DATABASE, or make one with 'cadastre serve' or 'cadastre migrate'.`,
  );
}

const holdsData = (path: string) => existsSync(path) && statSync(path).size > 0;

/** The path of the embedded database; undefined for PostgreSQL. */
export function sqlitePath(settings: Settings): string | undefined {
  return settings.database.startsWith("sqlite:") ? resolve(settings.database.slice("sqlite:".length)) : undefined;
}

function open(address: string): Database {
  try {
    return openDatabase(address);
  } catch (error) {
    throw new SettingError(
      `The database ${withoutPassword(address)} can't be opened (${(error as Error).message}). Check CADASTRE_DATABASE and the folder's permissions.`,
    );
  }
}

/** The key of the settings. For the embedded database without one, the key file beside it, made where there is no database yet. */
export function encryptionKey(settings: Settings): Uint8Array {
  if (settings.encryptionKey !== undefined) return settings.encryptionKey;
  const path = sqlitePath(settings);
  if (path === undefined)
    throw new SettingError(
      "CADASTRE_ENCRYPTION_KEY is required with PostgreSQL: every server needs the same. Make one with 'openssl rand -hex 32' and keep it safe.",
    );
  refuseLostKey(path);
  try {
    return keyBeside(path);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new SettingError(
      `The folder of the database ${path} can't be used (${(error as Error).message}). Check CADASTRE_DATABASE and the folder's permissions.`,
    );
  }
}

/** The same, but makes no key: undefined for an embedded database that has none yet. */
export function existingKey(settings: Settings): Uint8Array | undefined {
  const path = sqlitePath(settings);
  const isMissing = settings.encryptionKey === undefined && path !== undefined && !existsSync(keyPathBeside(path));
  return isMissing ? undefined : encryptionKey(settings);
}

/** A new key would open nothing of what the database holds. */
function refuseLostKey(path: string): void {
  const keyPath = keyPathBeside(path);
  if (holdsData(path) && !existsSync(keyPath))
    throw new SettingError(
      `The encryption key of the database ${path} is missing. Set CADASTRE_ENCRYPTION_KEY, or put the key file back at ${keyPath}.`,
    );
}

function unreachable(settings: Settings, cause: unknown): SettingError {
  const reason = cause instanceof Error ? ` (${cause.message || (cause as NodeJS.ErrnoException).code})` : "";
  return new SettingError(
    `The database ${withoutPassword(settings.database)} can't be reached${reason}. Check CADASTRE_DATABASE, and that the database is running.`,
  );
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/([^:@/]*):.*@/, "//$1:…@");
}

/** The operator at the machine, as a caller. */
export function operatorContext(
  database: Database,
  { organizationCreation }: Pick<Settings, "organizationCreation">,
  requestId: string,
): Omit<Context, "vault"> {
  const options = {
    organizationCreation,
    edition: "self-hosted",
    globalRemoteStateDefault: false,
    publicUrl: "",
  } as const;
  return { actor: { kind: "operator" }, database, options, neighbours, requestId };
}

/** What the first admin signs in with: a browser by the password, programs by the token. */
export interface FirstAdmin {
  readonly username: string;
  readonly token: string;
  readonly password: string;
}

/**
 * On an empty register: a first site admin, whose secrets are returned once. Undefined when there are users already. Raises
 * SettingError for a password that is too weak.
 */
export async function ensureFirstAdmin(database: Database, settings: Settings): Promise<FirstAdmin | undefined> {
  if (await hasUsers(database.reader)) return undefined;
  const token = settings.adminToken ?? newToken();
  const password = settings.adminPassword ?? newPassword();
  refuseWeakPassword(password);
  const { hash } = await newPasswordOf(password);
  return setUp(database, async (tx) => {
    // Of several servers that start together, one comes first.
    if (await hasUsers(tx)) return undefined;
    const context = operatorContext(database, settings, "first-start");
    const admin = await addUser(tx, context, { ...firstAdmin, isSiteAdmin: true });
    await addToken(tx, context, {
      holder: { kind: "user", userId: admin.id },
      isLegacy: false,
      description: "Made on the first start",
      expiredAt: null,
      secret: token,
    });
    await setPassword(tx, context, administered(requireSiteAdmin(context.actor), admin), { password, hash });
    return { username: admin.username, token, password };
  });
}

const firstAdmin = { username: "admin", email: "admin@localhost" };

function refuseWeakPassword(password: string): void {
  const [fault] = passwordFaults(password, firstAdmin);
  if (fault !== undefined) throw new SettingError(`CADASTRE_ADMIN_PASSWORD can't be used: ${fault.detail}.`);
}

async function hasUsers({ db }: Tx): Promise<boolean> {
  return (await db.selectFrom("users").select("id").limit(1).executeTakeFirst()) !== undefined;
}
