/** How a backup treats contents that are in an object store: it contains them, or only says which objects its rows need. */
import { createReadStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { type RawBuilder, sql } from "kysely";
import type { BackupSection, BackupValue, ObjectTotals } from "./format.ts";

/** A content in an object store. Its encrypted chunks are what `content_chunks` would have. */
export interface BackupObject {
  readonly id: string;
  readonly organizationId: string;
  readonly chunkCount: number;
  readonly place: string;
  readonly object: string;
  readonly objectBytes: number;
  readonly keyId: string;
  readonly chunkSizes: string | null;
}

export type ObjectReader = (content: BackupObject) => AsyncIterable<Uint8Array>;

export const contentsTable = "contents";
export const chunksTable = "content_chunks";
/** Objects to be deleted: only of use to the register that owns the place. */
const unattachedTable = "unattached_objects";

/** Chunks that a move to an object store has left for some days are in the store, too. */
export function rowsToBackUp(table: string, includesObjects: boolean): RawBuilder<unknown> {
  if (table === chunksTable) return sql`content_id in (select id from contents where place is null)`;
  return table === unattachedTable && includesObjects ? sql`1 = 0` : sql`1 = 1`;
}

/** The object that a row of `contents` needs, if its chunks are not in the database. */
export function objectIn({ table, columns }: BackupSection, values: readonly BackupValue[]): BackupObject | undefined {
  if (table !== contentsTable) return undefined;
  const valueOf = (column: string) => values[columns.indexOf(column)];
  const [place, object] = [valueOf("place"), valueOf("object")];
  // Columns that an older schema lacks are undefined.
  if (typeof place !== "string" || typeof object !== "string") return undefined;
  return {
    id: String(valueOf("id")),
    organizationId: String(valueOf("organization_id")),
    chunkCount: Number(valueOf("chunk_count")),
    place,
    object,
    objectBytes: Number(valueOf("object_bytes")),
    keyId: String(valueOf("key_id")),
    chunkSizes: (valueOf("chunk_sizes") as string | null | undefined) ?? null,
  };
}

const placeColumns = ["place", "object", "object_bytes", "key_id", "chunk_sizes"];

/** The same row, with its chunks in the database. */
export const withoutObject = ({ columns }: BackupSection, values: readonly BackupValue[]): BackupValue[] =>
  values.map((value, position) => (placeColumns.includes(columns[position] ?? "") ? null : value));

export function withObject(totals: ObjectTotals, { place, objectBytes }: BackupObject): ObjectTotals {
  const { count, bytes } = totals[place] ?? { count: 0, bytes: 0 };
  return { ...totals, [place]: { count: count + 1, bytes: bytes + objectBytes } };
}

/** The objects to read after the snapshot, in a file, because there can be millions. */
export class ObjectList {
  readonly #file: string;
  #pending: string[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  async add(object: BackupObject): Promise<void> {
    this.#pending.push(`${JSON.stringify(object)}\n`);
    if (this.#pending.length >= 1_000) await this.#flush();
  }

  async #flush(): Promise<void> {
    const handle = await open(this.#file, "a", 0o600);
    try {
      await handle.appendFile(this.#pending.splice(0).join(""));
    } finally {
      await handle.close();
    }
  }

  async *read(): AsyncGenerator<BackupObject> {
    await this.#flush();
    const input = createReadStream(this.#file);
    try {
      for await (const line of createInterface({ input })) yield JSON.parse(line) as BackupObject;
    } finally {
      input.destroy();
    }
  }

  async remove(): Promise<void> {
    await rm(this.#file, { force: true });
  }
}
