/**
 * What must still be so of the register for a server to write to it: the schema that the server knows, and an encryption key that was
 * not rotated out. Every write makes sure of it inside its own transaction, so that none of an older server can be committed after the
 * migration of a newer one. See docs/decisions/0140-an-older-server-stops-writing.md.
 */
import { type Kysely, sql } from "kysely";
import { AppError } from "../kernel/errors.ts";
import type { Schema } from "./schema/schema.ts";

/** The fact that names the keys, by their ids, under which nothing may be sealed any more. */
export const retiredKeysFact = "retired-encryption-keys";

/** One row, by whichever way an engine asks for it. */
export const standingStatement = `select (select count(*) from migrations) as migrations, (select value from meta where name = '${retiredKeysFact}') as retired_keys`;

export interface Standing {
  readonly migrations: number;
  /** Ids between spaces; null where none was retired. */
  readonly retiredKeys: string | null;
}

export const isRetired = (keyId: string, retiredKeys: string | null | undefined): boolean =>
  (retiredKeys ?? "").split(" ").includes(keyId);

/** Longer than a server takes to be replaced would be better; but whoever asks again may come to another one already. */
const retryAfterSeconds = 5;

export class Fence {
  /** Told once, when it first refuses. */
  onRefusal: ((sentence: string) => void) | undefined;
  #migrations: number | undefined;
  #keyId: string | undefined;
  #hasRefused = false;

  get isHeld(): boolean {
    return this.#migrations !== undefined;
  }

  /** From now on nothing is written to a schema of more or fewer migrations. */
  hold(migrations: number): void {
    this.#migrations = migrations;
  }

  /** From now on nothing is written once this key was rotated out. */
  holdKey(keyId: string): void {
    this.#keyId = keyId;
  }

  /** For whoever changes the schema. */
  letGo(): void {
    this.#migrations = undefined;
  }

  /** Raises `unavailable`. */
  check(standing: Standing): void {
    const sentence = this.isHeld ? this.#refusal(standing) : undefined;
    if (sentence === undefined) return;
    if (!this.#hasRefused) this.onRefusal?.(sentence);
    this.#hasRefused = true;
    throw new AppError("unavailable", sentence, { retryAfterSeconds });
  }

  #refusal({ migrations, retiredKeys }: Standing): string | undefined {
    if (migrations !== this.#migrations)
      return "The database was brought to another version of Cadastre than this server's, which therefore changes nothing any more. Nothing was changed; try again shortly, when servers of that version have taken over.";
    if (this.#keyId !== undefined && isRetired(this.#keyId, retiredKeys))
      return `The encryption key ${this.#keyId} was rotated out, and this server still encrypts under it, so it changes nothing any more. Nothing was changed; whoever runs the service has to start it again, with the new key first (in CADASTRE_ENCRYPTION_KEY, or in the key file beside the embedded database).`;
    return undefined;
  }
}

/** For whoever wants to know without writing: one statement. */
export async function readStanding(db: Kysely<Schema>): Promise<Standing> {
  const { rows } = await sql<Standing>`${sql.raw(standingStatement)}`.execute(db);
  return rows[0] as Standing;
}
