/** The format of a backup file. See docs/backup-format.md. */
import { migrations } from "../database/migrate.ts";
import type { Migration } from "../database/migrations/migration.ts";
import { type SealedTable, sealedTables } from "../database/sealed.ts";
import { keyIdOf, type Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";

export const formatName = "cadastre-backup";
export const formatVersion = 1;

/** Contains no secrets. */
export interface BackupHeader {
  readonly format: typeof formatName;
  readonly version: number;
  readonly createdAt: string;
  readonly cadastre: string;
  readonly migrations: readonly string[];
  /** Of the key that encrypts new values. */
  readonly keyId: string;
}

export interface BackupSection {
  readonly table: string;
  readonly columns: readonly string[];
}

/** `sha256`: hex, over all bytes before the footer. */
export interface BackupFooter {
  readonly rows: Readonly<Record<string, number>>;
  /** Absent in older files, which use only the header's key. */
  readonly keyIds?: readonly string[];
  /** Only of a backup without contents: what its rows need from object stores. */
  readonly objects?: ObjectTotals;
  readonly sha256: string;
}

/** By place. */
export type ObjectTotals = Readonly<Record<string, { readonly count: number; readonly bytes: number }>>;

export type BackupValue = string | number | null | Uint8Array;

interface EncodedBytes {
  readonly base64: string;
}

export function encodeRow(values: readonly BackupValue[]): string {
  return JSON.stringify(
    values.map((value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value)),
  );
}

export function decodeRow(values: readonly (string | number | null | EncodedBytes)[]): BackupValue[] {
  return values.map((value) =>
    typeof value === "object" && value !== null ? Buffer.from(value.base64, "base64") : value,
  );
}

/** Every binary column contains encrypted values. */
export const keyIdsIn = (values: readonly unknown[]): string[] =>
  values.filter((value) => value instanceof Uint8Array).map((value) => keyIdOf(value as Uint8Array));

/** Checks that the keys fit. It must not keep the plaintext. */
export class SecretChecker {
  readonly #vault: Vault;
  readonly #file: string;
  #section: BackupSection = { table: "", columns: [] };
  #sealed: SealedTable | undefined;
  count = 0;

  constructor(vault: Vault, file: string) {
    this.#vault = vault;
    this.#file = file;
  }

  begin(section: BackupSection): void {
    this.#section = section;
    this.#sealed = sealedTables.find(({ table, formerly }) => table === section.table || formerly === section.table);
  }

  /** Throws `conflict` if a value can't be decrypted. */
  row(values: readonly BackupValue[]): void {
    const sealed = this.#sealed;
    if (sealed === undefined) return;
    const valueOf = (column: string) => values[this.#section.columns.indexOf(column)];
    const key = sealed.key.map((column) => valueOf(column) as string | number);
    for (const [column, owner] of Object.entries(sealed.owners)) {
      const value = valueOf(column);
      if (!(value instanceof Uint8Array)) continue;
      try {
        this.#vault.open(owner(key), value);
      } catch {
        throw conflict(
          `The backup ${this.#file} is complete, but ${sealed.table}.${column} of ${key.join(", ")} can't be decrypted: it needs the key ${keyIdOf(value)}, and the configured keys are ${this.#vault.keyIds.join(", ")}. Add that key to CADASTRE_ENCRYPTION_KEY; if it is already there, use another backup.`,
        );
      }
      this.count += 1;
    }
  }
}

const migrationsTable = "migrations";

/** Tables with rows in a new database; the backup's rows replace them. */
export const prefilledTables: readonly string[] = [migrationsTable, "meta", "engine_versions"];

/** Not in the file: the triggers also run on restore. */
export const triggerMaintainedTables: readonly string[] = ["access_versions"];

export function tablesAfter(applied: readonly string[], known: readonly Migration[] = migrations): string[] {
  const tables = new Set([migrationsTable]);
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
  return [...tables].filter((table) => !triggerMaintainedTables.includes(table));
}

export type BackupProgress = (table: string, rows: number) => void;
