/** Checks that an object store has what a backup without contents needs, several objects at a time. */
import type { BackupObject } from "../backup/contents.ts";
import type { ObjectChecker } from "../backup/restore.ts";
import type { Vault } from "../database/vault.ts";
import { AppError, conflict } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { ObjectStoreError } from "../object-store/object-store.ts";
import { chunksOfObject, openChunk } from "../resources/shared/contents/chunks.ts";
import type { ContentPlace } from "../resources/shared/contents/content-place.ts";

const concurrency = 16;
const shownMax = 5;

export class PlaceChecker implements ObjectChecker {
  readonly #place: ContentPlace | undefined;
  readonly #vault: Vault | undefined;
  readonly #pending = new Set<Promise<void>>();
  readonly #faults: string[] = [];
  #failure: unknown;
  count = 0;
  bytes = 0;

  /** With a vault, it also reads and verifies every byte. */
  constructor(place: ContentPlace | undefined, vault: Vault | undefined) {
    this.#place = place;
    this.#vault = vault;
  }

  async check(object: BackupObject): Promise<void> {
    const place = this.#place;
    if (place === undefined)
      throw conflict(
        `The backup is without contents: it needs objects in ${object.place}. Set CADASTRE_CONTENTS to that place, or to a copy of it.`,
      );
    while (this.#pending.size >= concurrency) await Promise.race(this.#pending);
    if (this.#failure !== undefined) throw this.#failure;
    this.count += 1;
    this.bytes += object.objectBytes;
    const one = this.#check(place, object).finally(() => this.#pending.delete(one));
    this.#pending.add(one);
  }

  /** Throws `conflict` if an object is missing or damaged, or if the store is not available. */
  async finish(): Promise<void> {
    await Promise.all(this.#pending);
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#faults.length === 0) return;
    const more = this.#faults.length > shownMax ? ` and ${this.#faults.length - shownMax} more` : "";
    throw conflict(
      `${this.#faults.length} of the ${counted(this.count, "object")} that the backup needs can't be used: ${this.#faults.slice(0, shownMax).join("; ")}${more}. Use another backup, or bring the objects back to ${this.#place?.name}.`,
    );
  }

  async #check(place: ContentPlace, object: BackupObject): Promise<void> {
    try {
      const fault = await this.#faultOf(place, object);
      if (fault !== undefined) this.#faults.push(`${place.keyOf(object.object)} ${fault}`);
    } catch (error) {
      this.#failure ??= unavailable(place, error);
    }
  }

  async #faultOf(place: ContentPlace, object: BackupObject): Promise<string | undefined> {
    const size = await place.store.size(place.keyOf(object.object));
    if (size === undefined) return "is missing";
    if (size !== object.objectBytes) return `has ${size} instead of ${object.objectBytes} bytes`;
    return this.#vault === undefined ? undefined : faultInBytes(place, object, this.#vault);
  }
}

async function faultInBytes(place: ContentPlace, object: BackupObject, vault: Vault): Promise<string | undefined> {
  try {
    let position = 0;
    for await (const sealed of chunksOfObject(place, object)) {
      openChunk(vault, object.id, position, sealed);
      position += 1;
    }
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.code === "internal") return "is damaged";
    throw error;
  }
}

function unavailable(place: ContentPlace, error: unknown): unknown {
  const isOfStore = error instanceof ObjectStoreError || (error instanceof AppError && error.code === "unavailable");
  if (!isOfStore) return error;
  return conflict(
    `${place.name} is not available (${(error as Error).message}). Nothing was written. Try again later.`,
  );
}
