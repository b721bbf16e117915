/** Checks after the requests: consistent data, no partial writes, no leaks in the server. */
import { setTimeout } from "node:timers/promises";
import { sql } from "kysely";
import { createVault } from "../src/database/vault.ts";
import { jobs } from "../src/jobs/index.ts";
import { BackgroundJobRunner } from "../src/jobs/runner.ts";
import { operatorContext } from "../src/service.ts";
import { contradictionsIn } from "../test/support/stress/invariants.ts";
import { adminToken, encryptionKey, type FuzzedSite } from "./site.ts";

/** Resources of a process. */
export interface ProcessUsage {
  readonly memoryBytes: number;
  readonly openFiles: number;
}

export async function usageOf({ url }: FuzzedSite): Promise<ProcessUsage> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
  const text = await answer.text();
  const figure = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]);
  return { memoryBytes: figure("cadastre_resident_memory_bytes"), openFiles: figure("process_open_fds") };
}

const openFilesSlack = 24;
/** The first half is the warm-up; after that only a leak grows. */
const memoryGrowthMax = 1.35;
const memorySlackBytes = 48 * 2 ** 20;

export function leaksIn(seen: readonly ProcessUsage[], before: ProcessUsage, after: ProcessUsage): string[] {
  const leaks: string[] = [];
  if (after.openFiles > before.openFiles + openFilesSlack)
    leaks.push(`${after.openFiles} files and connections are open; before, there were ${before.openFiles}.`);
  const half = seen
    .slice(Math.floor(seen.length / 2), Math.ceil((seen.length * 3) / 4))
    .map((each) => each.memoryBytes);
  const last = seen.slice(Math.ceil((seen.length * 3) / 4)).map((each) => each.memoryBytes);
  if (seen.length >= 12 && Math.min(...last) > Math.max(...half) * memoryGrowthMax + memorySlackBytes)
    leaks.push(`Memory grows: ${seen.map(({ memoryBytes }) => Math.round(memoryBytes / 2 ** 20)).join(", ")} MiB.`);
  return leaks;
}

/** While the server is idle: has it released everything? */
export async function openTransactions({ database }: FuzzedSite): Promise<string[]> {
  if (database.dialect.name === "sqlite") return [];
  // A background job can be running, but not for long.
  await setTimeout(3_000);
  const { rows } = await sql<{ state: string; query: string }>`
    select state, left(query, 200) as query from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and (state like 'idle in transaction%' and now() - state_change > interval '2 seconds' or (state = 'active' and now() - query_start > interval '5 seconds'))`.execute(
    database.reader.db,
  );
  return rows.map(({ state, query }) => `A connection is left ${state}: ${query}`);
}

/** After the server has stopped. */
export async function inconsistenciesIn(site: FuzzedSite): Promise<string[]> {
  const { database } = site;
  const damage = Object.entries(await contradictionsIn(database)).map(
    ([name, rows]) => `${name} contradicts the data: ${JSON.stringify(rows.slice(0, 3))}`,
  );
  return [...damage, ...(await fileFaults(site)), ...(await leftovers(site))];
}

async function fileFaults({ database }: FuzzedSite): Promise<string[]> {
  if (database.dialect.name !== "sqlite") return [];
  const checked = await sql<{ integrityCheck: string }>`pragma integrity_check`.execute(database.reader.db);
  const bad = checked.rows.map((row) => Object.values(row)[0]).filter((word) => word !== "ok");
  const dangling = await sql`pragma foreign_key_check`.execute(database.reader.db);
  return [
    ...bad.map((word) => `The database is damaged: ${word}`),
    ...dangling.rows.map((row) => `A foreign key has no target: ${JSON.stringify(row)}`),
  ];
}

/** Runs the cleanup jobs, then looks for leftovers. */
async function leftovers({ database }: FuzzedSite): Promise<string[]> {
  const { options } = operatorContext(database, { organizationCreation: "site-admins" }, "fuzz");
  const vault = createVault(encryptionKey);
  await new BackgroundJobRunner({ database, vault, options, jobs }).runNow("abandoned-uploads");
  // A lock can outlive its holder, but must keep the holder's name.
  const { rows } = await sql<{ orphans: number; nameless: number; holders: number }>`
    select
      (select count(*) from contents
        where state_version_id is null and configuration_version_id is null and run_id is null) as orphans,
      (select count(*) from workspaces where locked_by_type in ('users', 'teams') and locked_by_name is null) as nameless,
      (select count(*) from jobs where holder is not null) as holders`.execute(database.reader.db);
  const [found] = rows;
  return Object.entries(found ?? {}).flatMap(([what, count]) =>
    Number(count) === 0 ? [] : [`${String(count)} ${what} are left over.`],
  );
}
