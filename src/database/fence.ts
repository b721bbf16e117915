/**
 * Refuses writes of a server whose version or encryption key no longer matches the database. Every write checks it inside its
 * transaction. See docs/decisions/0173-rolling-upgrades.md.
 */
import { type Kysely, sql } from "kysely";
import { AppError } from "../kernel/errors.ts";
import type { Schema } from "./schema/schema.ts";

export const retiredKeysFact = "retired-encryption-keys";

/** The applied migrations with which older servers can write (`parseCompatible`). */
export const compatibleFact = "compatible-migrations";

/** The newest migration of the server that became ready last. */
export const readyMigrationFact = "served-migration";

const fact = (name: string) => `(select value from meta where name = '${name}')`;

export const fenceStateStatement = `select (select count(*) from migrations) as migrations, ${fact(retiredKeysFact)} as retired_keys, ${fact(compatibleFact)} as compatible, ${fact(readyMigrationFact)} as ready_migration`;

export interface FenceState {
  readonly migrations: number;
  /** Separated by spaces. */
  readonly retiredKeys: string | null;
  readonly compatible: string | null;
  readonly readyMigration: string | null;
}

/** Applied migration → the oldest migration that a server must know to keep writing. */
export type CompatibleMigrations = ReadonlyMap<string, string>;

export function parseCompatible(value: string | null | undefined): CompatibleMigrations {
  const entries = (value ?? "").split(" ").filter((entry) => entry !== "");
  return new Map(entries.map((entry) => entry.split(":") as [string, string]));
}

export const formatCompatible = (compatible: CompatibleMigrations): string =>
  [...compatible].map((entry) => entry.join(":")).join(" ");

export const isRetired = (keyId: string, retiredKeys: string | null | undefined): boolean =>
  (retiredKeys ?? "").split(" ").includes(keyId);

/** Shorter than a server's replacement takes, because the next request may reach another server. */
const retryAfterSeconds = 5;

export class Fence {
  onRefusal: ((sentence: string) => void) | undefined;
  handoverMs = 0;
  #known: ReadonlySet<string> | undefined;
  #keyId: string | undefined;
  #hasRefused = false;
  #replacedAt: number | undefined;

  get isEnabled(): boolean {
    return this.#known !== undefined;
  }

  setMigrations(known: readonly string[]): void {
    this.#known = new Set(known);
  }

  setKey(keyId: string): void {
    this.#keyId = keyId;
  }

  disable(): void {
    this.#known = undefined;
  }

  /** Throws `unavailable`. */
  check(state: FenceState): void {
    this.#refuse(this.#keyRefusal(state) ?? this.#schemaRefusal(state));
  }

  /** A server that can't write still answers reads: it stays ready until a newer one is, plus the handover time. Throws `unavailable`. */
  readiness(state: FenceState): "ready" | "read-only" {
    this.#refuse(this.#keyRefusal(state));
    const sentence = this.#schemaRefusal(state);
    if (sentence === undefined) return "ready";
    const { readyMigration } = state;
    if (readyMigration !== null && this.#known?.has(readyMigration) === false) this.#replacedAt ??= performance.now();
    else this.#replacedAt = undefined;
    if (this.#replacedAt !== undefined && performance.now() - this.#replacedAt >= this.handoverMs)
      this.#refuse(sentence);
    return "read-only";
  }

  #refuse(sentence: string | undefined): void {
    if (sentence === undefined) return;
    if (!this.#hasRefused) this.onRefusal?.(sentence);
    this.#hasRefused = true;
    throw new AppError("unavailable", sentence, { retryAfterSeconds });
  }

  #schemaRefusal({ migrations, compatible }: FenceState): string | undefined {
    const known = this.#known;
    if (known === undefined || migrations === known.size) return undefined;
    const usable = [...parseCompatible(compatible)].filter(([name, needs]) => !known.has(name) && known.has(needs));
    if (migrations === known.size + usable.length) return undefined;
    return "The database was migrated to another version of Cadastre, so this server refuses changes. Nothing was changed. Try again when servers of that version have taken over.";
  }

  #keyRefusal({ retiredKeys }: FenceState): string | undefined {
    if (!this.isEnabled || this.#keyId === undefined || !isRetired(this.#keyId, retiredKeys)) return undefined;
    return `The encryption key ${this.#keyId} was retired, but this server still encrypts with it, so it refuses changes. Nothing was changed. The operator has to restart the server with the new key first (in CADASTRE_ENCRYPTION_KEY, or in the key file beside the embedded database).`;
  }
}

export async function readFenceState(db: Kysely<Schema>): Promise<FenceState> {
  const { rows } = await sql<FenceState>`${sql.raw(fenceStateStatement)}`.execute(db);
  return rows[0] as FenceState;
}
