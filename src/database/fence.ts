/**
 * What must still be so of the register for a server to write to it: a schema that the server can write to, and an encryption key that was
 * not rotated out. Every write makes sure of it inside its own transaction, so that none of an older server can be committed after a
 * migration that it can't work with. See docs/decisions/0140-an-older-server-stops-writing.md and 0173-older-servers-write-on.md.
 */
import { type Kysely, sql } from "kysely";
import { AppError } from "../kernel/errors.ts";
import type { Schema } from "./schema/schema.ts";

/** The fact that names the keys, by their ids, under which nothing may be sealed any more. */
export const retiredKeysFact = "retired-encryption-keys";

/** The fact that lists the applied migrations that older servers can write with, as `parseCompatible` reads it. */
export const compatibleFact = "compatible-migrations";

/** The fact that names the newest migration of the server that became ready last. */
export const servedFact = "served-migration";

const fact = (name: string) => `(select value from meta where name = '${name}')`;

/** One row, by whichever way an engine asks for it. */
export const fenceStateStatement = `select (select count(*) from migrations) as migrations, ${fact(retiredKeysFact)} as retired_keys, ${fact(compatibleFact)} as compatible, ${fact(servedFact)} as served`;

export interface FenceState {
  readonly migrations: number;
  /** Ids between spaces; null where none was retired. */
  readonly retiredKeys: string | null;
  readonly compatible: string | null;
  readonly served: string | null;
}

/** By the names of migrations, what a server that does not know them must know to write all the same. */
export type CompatibleMigrations = ReadonlyMap<string, string>;

export function parseCompatible(value: string | null | undefined): CompatibleMigrations {
  const entries = (value ?? "").split(" ").filter((entry) => entry !== "");
  return new Map(entries.map((entry) => entry.split(":") as [string, string]));
}

export const formatCompatible = (compatible: CompatibleMigrations): string =>
  [...compatible].map((entry) => entry.join(":")).join(" ");

export const isRetired = (keyId: string, retiredKeys: string | null | undefined): boolean =>
  (retiredKeys ?? "").split(" ").includes(keyId);

/** Longer than a server takes to be replaced would be better; but whoever asks again may come to another one already. */
const retryAfterSeconds = 5;

export class Fence {
  /** Called once, when it first refuses. */
  onRefusal: ((sentence: string) => void) | undefined;
  /** How long balancers take to notice that a server is ready, or no longer. */
  handoverMs = 0;
  #known: ReadonlySet<string> | undefined;
  #keyId: string | undefined;
  #hasRefused = false;
  #replacedAt: number | undefined;

  get isHeld(): boolean {
    return this.#known !== undefined;
  }

  /** From now on nothing is written to a schema that a server which knows these migrations can't write to. */
  hold(known: readonly string[]): void {
    this.#known = new Set(known);
  }

  /** From now on nothing is written once this key was rotated out. */
  holdKey(keyId: string): void {
    this.#keyId = keyId;
  }

  /** For what changes the schema. */
  letGo(): void {
    this.#known = undefined;
  }

  /** Raises `unavailable`. */
  check(state: FenceState): void {
    this.#refuse(this.#keyRefusal(state) ?? this.#schemaRefusal(state));
  }

  /**
   * Whether the server can be sent requests, and which. One that may not write still answers reads, so it stays ready until a newer server
   * is, and for as long as balancers take to notice that one. Raises `unavailable`.
   */
  readiness(state: FenceState): "ready" | "read-only" {
    this.#refuse(this.#keyRefusal(state));
    const sentence = this.#schemaRefusal(state);
    if (sentence === undefined) return "ready";
    const { served } = state;
    if (served !== null && this.#known?.has(served) === false) this.#replacedAt ??= performance.now();
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
    return "The database was brought to another version of Cadastre than this server's, which therefore changes nothing any more. Nothing was changed; try again shortly, when servers of that version have taken over.";
  }

  #keyRefusal({ retiredKeys }: FenceState): string | undefined {
    if (!this.isHeld || this.#keyId === undefined || !isRetired(this.#keyId, retiredKeys)) return undefined;
    return `The encryption key ${this.#keyId} was rotated out, and this server still encrypts under it, so it changes nothing any more. Nothing was changed; the operator has to start it again, with the new key first (in CADASTRE_ENCRYPTION_KEY, or in the key file beside the embedded database).`;
  }
}

/** For callers that want to know without writing: one statement. */
export async function readFenceState(db: Kysely<Schema>): Promise<FenceState> {
  const { rows } = await sql<FenceState>`${sql.raw(fenceStateStatement)}`.execute(db);
  return rows[0] as FenceState;
}
