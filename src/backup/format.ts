/** What is in a backup file: its lines (`docs/backup-format.md` describes them for people), its tables in their order, and its sealed values. */
import { migrations } from "../database/migrate.ts";
import type { Migration } from "../database/migrations/migration.ts";
import { type SealedTable, sealedTables } from "../database/sealed.ts";
import { keyIdOf, type Vault } from "../database/vault.ts";
import { conflict } from "../kernel/errors.ts";

export const formatName = "cadastre-backup";
export const formatVersion = 1;

/** The first line. It holds nothing secret. */
export interface Header {
  readonly format: typeof formatName;
  readonly version: number;
  readonly createdAt: string;
  /** The version of Cadastre that wrote it. */
  readonly cadastre: string;
  readonly migrations: readonly string[];
  /** Names the key under which the encrypted values can be opened. */
  readonly keyId: string;
}

/** Begins a table; the lines that follow are its rows, until the next table or the end. */
export interface Section {
  readonly table: string;
  readonly columns: readonly string[];
}

/** The last line: the rows of each table, and the SHA-256 (hex) of every byte of the lines before it. */
export interface Footer {
  readonly rows: Readonly<Record<string, number>>;
  /** Every key that encrypted values are under; absent in older files, whose values are all under the header's. */
  readonly keyIds?: readonly string[];
  readonly sha256: string;
}

export type Value = string | number | null | Uint8Array;

/** Bytes are the only values that JSON does not know. */
interface EncodedBytes {
  readonly base64: string;
}

export function encodeRow(values: readonly Value[]): string {
  return JSON.stringify(
    values.map((value) => (value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value)),
  );
}

export function decodeRow(values: readonly (string | number | null | EncodedBytes)[]): Value[] {
  return values.map((value) =>
    typeof value === "object" && value !== null ? Buffer.from(value.base64, "base64") : value,
  );
}

/** Every value of bytes in the register is a sealed one. */
export const keyIdsIn = (values: readonly unknown[]): string[] =>
  values.filter((value) => value instanceof Uint8Array).map((value) => keyIdOf(value as Uint8Array));

/** Opens whatever is sealed in the rows of a section, and keeps nothing of it. */
export class SecretsCheck {
  readonly #vault: Vault;
  readonly #file: string;
  #section: Section = { table: "", columns: [] };
  #sealed: SealedTable | undefined;
  count = 0;

  constructor(vault: Vault, file: string) {
    this.#vault = vault;
    this.#file = file;
  }

  begin(section: Section): void {
    this.#section = section;
    this.#sealed = sealedTables.find(({ table, formerly }) => table === section.table || formerly === section.table);
  }

  /** Raises `conflict` where a value can't be opened. */
  row(values: readonly Value[]): void {
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
          `The backup ${this.#file} is whole, but ${sealed.table}.${column} of ${key.join(", ")} in it can't be opened: it is under the key ${keyIdOf(value)}, and the given ones are ${this.#vault.keyIds.join(", ")}. Name that key too in CADASTRE_ENCRYPTION_KEY; if it is there, use another backup.`,
        );
      }
      this.count += 1;
    }
  }
}

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

/** Called as the work goes on: `rows` of `table` are done so far. */
export type Progress = (table: string, rows: number) => void;
