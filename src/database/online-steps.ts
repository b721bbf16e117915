/**
 * The steps of migrations that would make writers wait in a transaction: building indexes and changing many rows. Any server can
 * continue them after another was killed, because their progress is recorded.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { CompiledQuery, sql } from "kysely";
import type { Database, Tx } from "./database.ts";
import { deleteFact, readFact, setFact } from "./meta.ts";
import type { IndexStep, Migration, OnlineStep, RowsStep } from "./migrations/migration.ts";

const progressFact = "pending-migration-steps";

interface StepProgress {
  readonly step: number;
  /** The last changed row's id. */
  readonly after: string;
}
type PendingMigrations = Readonly<Record<string, StepProgress>>;

const noProgress: StepProgress = { step: 0, after: "" };
const rowsPerBatch = 1_000;

const onlineStepsLeft = async (tx: Tx): Promise<PendingMigrations> =>
  JSON.parse((await readFact(tx, progressFact)) ?? "{}") as PendingMigrations;

export async function recordOnlineSteps(tx: Tx, applied: readonly Migration[]): Promise<void> {
  const added = applied.filter(({ online }) => online !== undefined).map(({ name }) => [name, noProgress] as const);
  if (added.length > 0) await saveProgress(tx, { ...(await onlineStepsLeft(tx)), ...Object.fromEntries(added) });
}

/** Only on a database that nobody else uses. */
export async function runOnlineStepsIn(tx: Tx, { online = [] }: Migration): Promise<void> {
  for (const step of online) {
    if (!("index" in step)) await run(tx, `UPDATE ${step.table} SET ${step.set} WHERE ${step.where}`);
    else if (isFor(tx, step)) await run(tx, step.index);
  }
}

/** Waits for another server that runs the steps. */
export async function runOnlineSteps(
  database: Database,
  known: readonly Migration[],
  report: (line: string) => void,
): Promise<void> {
  const { lockSchema } = database.dialect;
  const left = await onlineStepsLeft(database.reader);
  if (!known.some(({ name }) => left[name] !== undefined)) return;
  const runAll = () => runStepsLeft(database, known, report);
  // The transaction only holds the lock, until this server ends or is killed. Waiting in a SELECT would take a snapshot, which index builds
  // wait for.
  if (lockSchema === undefined) await runAll();
  else await database.write((tx) => run(tx, lockSchema.toAdd).then(runAll), { hasNoTimeout: true });
}

async function runStepsLeft(
  database: Database,
  known: readonly Migration[],
  report: (line: string) => void,
): Promise<void> {
  const left = await onlineStepsLeft(database.reader);
  for (const migration of known) {
    const { name, online = [] } = migration;
    if (left[name] === undefined) continue;
    for (let at = left[name].step; at < online.length; at += 1) {
      const step = online[at] as OnlineStep;
      report(`migration ${name}, step ${at + 1} of ${online.length}: ${describe(step)}`);
      if (!("index" in step)) await changeRows(database, migration, at, step);
      else if (isFor(database, step)) await buildIndex(database, step);
      await database.write((tx) => advance(tx, name, { step: at + 1, after: "" }));
    }
    await database.write(async (tx) => {
      const { [name]: _, ...others } = await onlineStepsLeft(tx);
      await saveProgress(tx, others);
    });
  }
}

const isFor = ({ dialect }: Pick<Tx, "dialect">, { engine }: IndexStep) =>
  engine === undefined || engine === dialect.name;

const describe = (step: OnlineStep): string =>
  "index" in step ? `building the index ${namesIn(step).name}` : `changing rows of ${step.table}`;

const hasEntries = (pending: PendingMigrations) => Object.keys(pending).length > 0;

async function saveProgress(tx: Tx, pending: PendingMigrations): Promise<void> {
  await (hasEntries(pending) ? setFact(tx, progressFact, JSON.stringify(pending)) : deleteFact(tx, progressFact));
}

/** False if another process has already done it. */
async function advance(tx: Tx, name: string, progress: StepProgress): Promise<boolean> {
  const pending = await onlineStepsLeft(tx);
  const { step, after } = pending[name] ?? { step: Number.POSITIVE_INFINITY, after: "" };
  if (step > progress.step || (step === progress.step && after >= progress.after)) return false;
  await saveProgress(tx, { ...pending, [name]: progress });
  return true;
}

async function changeRows(database: Database, { name }: Migration, at: number, step: RowsStep): Promise<void> {
  let after: string | undefined = (await onlineStepsLeft(database.reader))[name]?.after ?? "";
  while (after !== undefined) {
    const startedAt = performance.now();
    after = await database.write((tx) => changeBatch(tx, name, at, step));
    // As long as the batch, so that other processes get their turn.
    await sleep(performance.now() - startedAt);
  }
}

/** The last id of the batch; undefined at the end. */
async function changeBatch(
  tx: Tx,
  name: string,
  at: number,
  { table, set, where }: RowsStep,
): Promise<string | undefined> {
  const { step = at + 1, after = "" } = (await onlineStepsLeft(tx))[name] ?? {};
  if (step !== at) return undefined;
  const { rows } = await sql<{ last: string | null }>`
    select max(id) as last from (
      select id from ${sql.table(table)} where id > ${after} order by id limit ${sql.lit(rowsPerBatch)}) as batch`.execute(
    tx.db,
  );
  const last = rows[0]?.last ?? undefined;
  if (last === undefined) return undefined;
  await sql`update ${sql.table(table)} set ${sql.raw(set)} where id > ${after} and id <= ${last} and (${sql.raw(where)})`.execute(
    tx.db,
  );
  await advance(tx, name, { step: at, after: last });
  return last;
}

const namesIn = ({ index }: IndexStep): { readonly name: string; readonly table: string } => {
  const [, name = "", table = ""] = /^CREATE (?:UNIQUE )?INDEX (\w+)\s+ON (\w+)/.exec(index) ?? [];
  return { name, table };
};

async function buildIndex(database: Database, step: IndexStep): Promise<void> {
  const { runAlone, dialect } = database;
  const { name, table } = namesIn(step);
  if (runAlone === undefined || dialect.lockIndexBuilds === undefined) {
    await database.write((tx) => run(tx, step.index.replace(" INDEX ", " INDEX IF NOT EXISTS ")), {
      hasNoTimeout: true,
    });
    return;
  }
  // A killed server's connection can still be building it.
  await database.write((tx) => run(tx, dialect.lockIndexBuilds?.(table) ?? ""), { hasNoTimeout: true });
  const { rows } = await sql<{ isValid: boolean }>`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${name})`.execute(database.reader.db);
  if (rows[0]?.isValid === true) return;
  await runAlone(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  await runAlone(step.index.replace(" INDEX ", " INDEX CONCURRENTLY "));
}

async function run(tx: Tx, statement: string): Promise<void> {
  await tx.db.executeQuery(CompiledQuery.raw(statement));
}
