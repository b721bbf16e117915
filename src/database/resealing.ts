/** Re-encrypts values with the vault's current key while servers run. Skips current values, so that it can be stopped and restarted. */
import { type RawBuilder, sql } from "kysely";
import type { Database, Tx } from "./database.ts";
import { conflict } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { camel } from "../kernel/names.ts";
import { type KeyValues, type SealedTable, sealedTables } from "./sealed.ts";
import { keyIdBytes, type Vault } from "./vault.ts";

const windowRows = 1_000;

type SealedRow = Readonly<Record<string, unknown>>;

const keyIdIn = (column: string): RawBuilder<Uint8Array> => sql`substr(${sql.ref(column)}, 2, ${keyIdBytes})`;
const columnsOf = ({ owners }: SealedTable): string[] => Object.keys(owners);
const keyOf = ({ key }: SealedTable, row: SealedRow): KeyValues =>
  key.map((column) => row[camel(column)] as string | number);
const idOf = (value: unknown): string => Buffer.from(value as Uint8Array).toString("hex");

export async function countByKey(database: Database): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  await database.snapshot(async ({ db }) => {
    for (const table of sealedTables)
      for (const column of columnsOf(table)) {
        const { rows } = await sql<{ keyId: Uint8Array; count: number }>`
          select ${keyIdIn(column)} as key_id, count(*) as count from ${sql.table(table.table)}
          where ${sql.ref(column)} is not null group by 1`.execute(db);
        for (const { keyId, count } of rows) counts.set(idOf(keyId), (counts.get(idOf(keyId)) ?? 0) + count);
      }
    // Contents in an object store.
    const { rows } = await sql<{ keyId: string; count: number }>`
      select key_id, count(*) as count from contents where place is not null group by key_id`.execute(db);
    for (const { keyId, count } of rows) counts.set(keyId, (counts.get(keyId) ?? 0) + Number(count));
  });
  return counts;
}

/** Reports the number so far to `progress`. Throws `conflict` if stopped; finished values are kept. */
export async function resealAll(
  database: Database,
  vault: Vault,
  progress: (done: number) => void,
  signal?: AbortSignal,
): Promise<number> {
  let done = 0;
  for (const table of sealedTables)
    for await (const keys of outdated(database, table, vault.keyId)) {
      if (signal?.aborted)
        throw conflict(`Stopped after re-encrypting ${counted(done, "secret")}. Run it again to continue.`);
      // Without the audit check: the key change is audited once for all values.
      done += await database.write((tx) => resealRows(tx, vault, table, keys), { commitCheck: undefined });
      progress(done);
    }
  return done;
}

async function* outdated(database: Database, table: SealedTable, keyId: string): AsyncGenerator<readonly KeyValues[]> {
  const keyColumns = sql.join(table.key.map((column) => sql.ref(column)));
  const ids = columnsOf(table).map((column) => sql`${keyIdIn(column)} as ${sql.ref(`${column}_key`)}`);
  const isOutdated = (row: SealedRow) =>
    columnsOf(table).some((column) => {
      const id = row[camel(`${column}_key`)];
      return id !== null && idOf(id) !== keyId;
    });
  for (let last: KeyValues | undefined; ;) {
    const after = last === undefined ? sql`` : sql`where (${keyColumns}) > (${sql.join(last)})`;
    const { rows } = await sql<SealedRow>`
      select ${keyColumns}, ${sql.join(ids)} from ${sql.table(table.table)} ${after}
      order by ${keyColumns} limit ${windowRows}`.execute(database.reader.db);
    const keys = rows.filter(isOutdated).map((row) => keyOf(table, row));
    for (let start = 0; start < keys.length; start += table.batchRows) yield keys.slice(start, start + table.batchRows);
    const end = rows.at(-1);
    if (end === undefined || rows.length < windowRows) return;
    last = keyOf(table, end);
  }
}

/** Skips a value that was replaced meanwhile: it is current. */
async function resealRows(tx: Tx, vault: Vault, table: SealedTable, keys: readonly KeyValues[]): Promise<number> {
  let done = 0;
  for (const key of keys) {
    const isRow = sql.join(
      table.key.map((column, position) => sql`${sql.ref(column)} = ${key[position]}`),
      sql` and `,
    );
    const columns = sql.join(columnsOf(table).map((column) => sql.ref(column)));
    const { rows } = await sql<SealedRow>`select ${columns} from ${sql.table(table.table)} where ${isRow}`.execute(
      tx.db,
    );
    for (const [column, owner] of Object.entries(table.owners)) {
      const sealed = rows[0]?.[camel(column)] as Uint8Array | null | undefined;
      if (sealed === null || sealed === undefined || vault.isCurrent(sealed)) continue;
      const resealed = vault.seal(owner(key), vault.open(owner(key), sealed));
      await sql`update ${sql.table(table.table)} set ${sql.ref(column)} = ${resealed}
        where ${isRow} and ${sql.ref(column)} = ${sealed}`.execute(tx.db);
      done += 1;
    }
  }
  return done;
}
