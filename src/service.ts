/** Opens the database that the settings name, with schema, key and first admin, for the server and the CLI. */
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Database, Tx } from "./database/database.ts";
import { openDatabase } from "./database/engines/open.ts";
import {
  appliedIn,
  migrate,
  type MigrationReport,
  migrations,
  refuseNewer,
  withSetupLock,
} from "./database/migrate.ts";
import type { Migration } from "./database/migrations/migration.ts";
import { checkVault, createVault, hasCheck, readKeyFile, keyFilePath, type Vault } from "./database/vault.ts";
import { AppError } from "./kernel/errors.ts";
import { newToken } from "./kernel/ids.ts";
import { newPassword } from "./kernel/passwords.ts";
import { addToken } from "./resources/identity/authentication-tokens/writes.ts";
import { hooks } from "./resources/index.ts";
import { passwordFaults } from "./resources/identity/sessions/password-strength.ts";
import { hashNewPassword, setPassword } from "./resources/identity/sessions/writes.ts";
import { withSiteAdminProof, requireSiteAdmin } from "./resources/shared/administration.ts";
import { requireAuditEvents } from "./resources/shared/audit-events/required.ts";
import type { Context } from "./resources/shared/context.ts";
import { addUser } from "./resources/identity/users/writes.ts";
import { SettingError } from "./kernel/settings.ts";
import { type Settings } from "./settings.ts";

export interface PreparedRegister {
  readonly database: Database;
  readonly vault: Vault;
  readonly migrated: readonly string[];
}

export interface UnpreparedRegister {
  readonly database: Database;
  readonly vault: Vault;
  /** Returns the applied migrations. Closes the database on failure; throws SettingError or AppError for the operator. */
  readonly prepare: (report?: MigrationReport) => Promise<readonly string[]>;
}

/** Throws SettingError. */
export function openUnprepared(settings: Settings, known: readonly Migration[] = migrations): UnpreparedRegister {
  const vault = createVault(...encryptionKeys(settings));
  const database = open(settings);
  const prepare = (report?: MigrationReport) =>
    closingOnFailure(settings, database, async () => {
      const migrated = await migrate(database, known, report);
      await checkVault(database, vault);
      return migrated;
    });
  return { database: requireAuditEvents(database), vault, prepare };
}

/** Throws SettingError or AppError for the operator. */
export async function openRegister(settings: Settings, report?: MigrationReport): Promise<PreparedRegister> {
  const { database, vault, prepare } = openUnprepared(settings);
  return { database, vault, migrated: await prepare(report) };
}

export interface ExistingRegister extends Omit<PreparedRegister, "migrated"> {
  readonly applied: readonly string[];
}

/** Creates and migrates nothing. Throws SettingError or AppError. */
export async function openExisting(settings: Settings): Promise<ExistingRegister> {
  const path = sqlitePath(settings);
  if (path !== undefined && !holdsData(path)) throw noRegister(settings);
  const vault = createVault(...encryptionKeys(settings));
  return withDatabase(settings, async (database) => {
    const applied = await appliedMigrations(database);
    if (applied === undefined) throw noRegister(settings);
    database.fence.setMigrations(applied);
    await checkVault(database, vault);
    return { database: requireAuditEvents(database), vault, applied };
  });
}

/** The migrations that a start would apply; undefined without a database. Changes nothing. Throws what a start would. */
export async function inspectRegister(
  settings: Settings,
  keys?: EncryptionKeys,
): Promise<readonly string[] | undefined> {
  return withDatabase(settings, async (database) => {
    const applied = await appliedMigrations(database);
    if (applied !== undefined && keys !== undefined && (await hasCheck(database.reader)))
      await checkVault(database, createVault(...keys));
    await database.close();
    return applied && migrations.map(({ name }) => name).filter((name) => !applied.includes(name));
  });
}

export async function writeRegister(settings: Settings, load: (database: Database) => Promise<void>): Promise<void> {
  await withDatabase(settings, async (database) => {
    await load(database);
    await database.close();
  });
}

async function withDatabase<T>(settings: Settings, work: (database: Database) => Promise<T>): Promise<T> {
  const database = open(settings);
  return closingOnFailure(settings, database, () => work(database));
}

async function closingOnFailure<T>(settings: Settings, database: Database, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await database.close();
    if (isCorruption(error)) throw damagedDatabase(settings.database, error);
    if (error instanceof AppError && isCorruption(error.internal))
      throw damagedDatabase(settings.database, error.internal);
    if (error instanceof AppError && error.code === "unavailable") throw unreachableDatabase(settings, error.internal);
    throw error;
  }
}

async function appliedMigrations({ reader }: Database): Promise<string[] | undefined> {
  let applied: string[];
  try {
    applied = await appliedIn(reader);
  } catch (error) {
    if (/no such table|does not exist/.test((error as Error).message)) return undefined;
    throw error;
  }
  await refuseNewer(reader, applied);
  return applied;
}

function noRegister(settings: Settings): SettingError {
  return new SettingError(
    `The database ${withoutPassword(settings.database)} has no Cadastre schema yet. Check CADASTRE_DATABASE, or create it with 'cadastre serve' or 'cadastre migrate'.`,
  );
}

const holdsData = (path: string) => existsSync(path) && statSync(path).size > 0;

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** Undefined for PostgreSQL. Throws SettingError for a folder. */
export function sqlitePath(settings: Settings): string | undefined {
  if (!settings.database.startsWith("sqlite:")) return undefined;
  const path = resolve(settings.database.slice("sqlite:".length));
  if (isFolder(path))
    throw new SettingError(
      `CADASTRE_DATABASE names a folder, ${path}. Name a file in it: sqlite:${join(path, "cadastre.db")}.`,
    );
  return path;
}

function open({ database: address, ...settings }: Settings): Database {
  try {
    return openDatabase(address, {
      connections: settings.databaseConnections,
      statementTimeoutMs: settings.statementTimeoutSeconds * 1000,
      lockTimeoutMs: settings.lockTimeoutSeconds * 1000,
    });
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (isCorruption(error)) throw damagedDatabase(address, error);
    throw new SettingError(
      `The database ${withoutPassword(address)} can't be opened (${(error as Error).message}). Check CADASTRE_DATABASE and the folder's permissions.`,
    );
  }
}

/** SQLite's codes for a corrupt file and for another kind of file. */
const isCorruption = (error: unknown) =>
  [11, 26].includes(((error as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff);

const damagedDatabase = (address: string, error: unknown) =>
  new SettingError(
    `The database ${withoutPassword(address)} is damaged, or is not a Cadastre database (${(error as Error).message}). Nothing was changed. Restore a backup beside it, or check CADASTRE_DATABASE.`,
  );

export type EncryptionKeys = readonly [Uint8Array, ...Uint8Array[]];

/** Without configured keys, an embedded database has a key file, which is created with a new database. */
export function encryptionKeys(settings: Settings): EncryptionKeys {
  if (settings.encryptionKey !== undefined) return settings.encryptionKey;
  const path = sqlitePath(settings);
  if (path === undefined)
    throw new SettingError(
      "CADASTRE_ENCRYPTION_KEY is required with PostgreSQL: every server needs the same. Create one with 'openssl rand -hex 32' and keep it safe.",
    );
  requireKeyFile(path);
  try {
    return readKeyFile(path) as [Uint8Array];
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new SettingError(
      `The key file of the database ${path}, or its folder, can't be used (${(error as Error).message}). Check CADASTRE_DATABASE, and that both belong to the user that runs this.`,
    );
  }
}

export function keysLocation(settings: Settings): string {
  const path = sqlitePath(settings);
  return settings.encryptionKey === undefined && path !== undefined
    ? `the file ${keyFilePath(path)}`
    : "CADASTRE_ENCRYPTION_KEY";
}

/** Creates no key file: undefined for an embedded database without one. */
export function existingKeys(settings: Settings): EncryptionKeys | undefined {
  const path = sqlitePath(settings);
  const isMissing = settings.encryptionKey === undefined && path !== undefined && !existsSync(keyFilePath(path));
  return isMissing ? undefined : encryptionKeys(settings);
}

function requireKeyFile(path: string): void {
  const keyPath = keyFilePath(path);
  if (holdsData(path) && !existsSync(keyPath))
    throw new SettingError(
      `The encryption key of the database ${path} is missing. Set CADASTRE_ENCRYPTION_KEY, or put the key file back at ${keyPath}.`,
    );
}

function unreachableDatabase(settings: Settings, cause: unknown): SettingError {
  const reason = cause instanceof Error ? ` (${cause.message || (cause as NodeJS.ErrnoException).code})` : "";
  return new SettingError(
    `The database ${withoutPassword(settings.database)} can't be reached${reason}. Check CADASTRE_DATABASE, and that the database is running.`,
  );
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/([^:@/]*):.*@/, "//$1:…@");
}

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
  return { actor: { kind: "operator" }, database, options, hooks, requestId };
}

export interface FirstAdmin {
  readonly username: string;
  readonly token: string;
  readonly password: string;
}

/** Undefined if there are users. Throws SettingError for a weak password. */
export async function ensureFirstAdmin(database: Database, settings: Settings): Promise<FirstAdmin | undefined> {
  if (await hasUsers(database.reader)) return undefined;
  const token = settings.adminToken ?? newToken();
  const password = settings.adminPassword ?? newPassword();
  requireStrongPassword(password);
  const { hash } = await hashNewPassword(password);
  const file = settings.adminToken === undefined ? settings.firstTokenFile : undefined;
  return withTokenFile(file, token, () =>
    withSetupLock(database, async (tx) => {
      // Several servers may start concurrently.
      if (await hasUsers(tx)) return undefined;
      const context = operatorContext(database, settings, "first-start");
      const admin = await addUser(tx, context, { ...firstAdmin, isSiteAdmin: true });
      await addToken(tx, context, {
        holder: { kind: "user", userId: admin.id },
        isLegacy: false,
        description: "Created on the first start",
        expiredAt: null,
        secret: token,
      });
      await setPassword(tx, context, withSiteAdminProof(requireSiteAdmin(context.actor), admin), { password, hash });
      return { username: admin.username, token, password };
    }),
  );
}

/** Writes the file before the admin, whose token would otherwise be lost, and removes it if no admin is created. Throws SettingError. */
async function withTokenFile<T>(
  path: string | undefined,
  token: string,
  createAdmin: () => Promise<T | undefined>,
): Promise<T | undefined> {
  if (path === undefined) return createAdmin();
  try {
    writeFileSync(path, `${token}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const [reason, remedy] =
      (error as NodeJS.ErrnoException).code === "EEXIST"
        ? ["it already exists", "Move the existing file away"]
        : [(error as Error).message, "Check the folder and its permissions"];
    throw new SettingError(
      `The first admin's token can't be written to ${path} (${reason}). ${remedy}, or name another file with CADASTRE_FIRST_TOKEN_FILE.`,
    );
  }
  let made: T | undefined;
  try {
    made = await createAdmin();
    return made;
  } finally {
    if (made === undefined) rmSync(path, { force: true });
  }
}

const firstAdmin = { username: "admin", email: "admin@localhost" };

function requireStrongPassword(password: string): void {
  const [fault] = passwordFaults(password, firstAdmin);
  if (fault !== undefined) throw new SettingError(`CADASTRE_ADMIN_PASSWORD can't be used: ${fault.detail}.`);
}

async function hasUsers({ db }: Tx): Promise<boolean> {
  return (await db.selectFrom("users").select("id").limit(1).executeTakeFirst()) !== undefined;
}
