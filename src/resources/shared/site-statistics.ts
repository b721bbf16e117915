/** Counts statistics of the site in a job, in batches, so that reading the stored result costs the same at any size. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import { readFact, setFact } from "../../database/meta.ts";
import { nowMs } from "../../kernel/time.ts";
import type { JobContext } from "./job-context.ts";
import { isInOpenOrganization } from "./open-organizations.ts";

export interface SiteStatistics {
  readonly at: string;
  readonly databaseBytes: number;
  readonly organizations: number;
  readonly users: number;
  readonly workspaces: number;
  /** Sizes are before compression. */
  readonly contents: Readonly<Record<string, { readonly count: number; readonly bytes: number }>>;
  readonly tokensExpiring: Readonly<Record<string, Readonly<Record<ExpiryDays, number>>>>;
}

export type ExpiryDays = "1" | "7" | "30";

export const tokenKinds = ["user", "team", "organization", "audit-trails"] as const;

const factName = "figures";
const dayMs = 24 * 3600 * 1000;

export async function readSiteStatistics(tx: Tx): Promise<SiteStatistics | undefined> {
  const fact = await readFact(tx, factName);
  return fact === undefined ? undefined : (JSON.parse(fact) as SiteStatistics);
}

/** If aborted, the previous statistics stay. */
export async function collectSiteStatistics({ context, signal, step }: JobContext): Promise<number> {
  const { reader } = context.database;
  const at = nowMs();
  const contents = await countContents(reader, signal);
  const totals = await readTotals(reader);
  const tokensExpiring = await countExpiring(reader, at);
  if (signal.aborted) return 0;
  const figures: SiteStatistics = { at: new Date(at).toISOString(), ...totals, contents, tokensExpiring };
  await step((tx) => setFact(tx, factName, JSON.stringify(figures)));
  return Object.values(contents).reduce((sum, { count }) => sum + count, 0);
}

/** On SQLite, everything else waits for a statement. */
const rowsPerStatement = 2_000;

interface ContentCountRow {
  readonly kind: string;
  readonly scanned: number;
  readonly count: number;
  readonly bytes: number;
  readonly last: string;
}

async function countContents(tx: Tx, signal: AbortSignal): Promise<SiteStatistics["contents"]> {
  const sums: Record<string, { count: number; bytes: number }> = {};
  let after = "";
  while (!signal.aborted) {
    const { rows } = await sql<ContentCountRow>`
      select kind, count(*) as scanned, max(id) as last,
        sum(complete) as count, sum(case when complete = 1 then size else 0 end) as bytes
      from (select id, kind, size, complete from contents where id > ${after} order by id limit ${sql.lit(rowsPerStatement)}) as piece
      group by kind`.execute(tx.db);
    for (const { kind, count, bytes, last } of rows) {
      const sum = (sums[kind] ??= { count: 0, bytes: 0 });
      sum.count += Number(count);
      sum.bytes += Number(bytes);
      if (last > after) after = last;
    }
    if (rows.reduce((sum, { scanned }) => sum + Number(scanned), 0) < rowsPerStatement) break;
    await nextTurn();
  }
  return sums;
}

type SiteTotals = Pick<SiteStatistics, "databaseBytes" | "organizations" | "users" | "workspaces">;

async function readTotals({ db, dialect }: Tx): Promise<SiteTotals> {
  const { rows } = await sql<SiteTotals>`
    select ${dialect.databaseBytes} as database_bytes, (select count(*) from open_organizations) as organizations,
      (select count(*) from users) as users, (select coalesce(sum(workspace_count), 0) from projects where ${isInOpenOrganization("projects.organizationId")}) as workspaces`.execute(
    db,
  );
  const [found] = rows as [SiteTotals];
  return {
    databaseBytes: Number(found.databaseBytes),
    organizations: Number(found.organizations),
    users: Number(found.users),
    workspaces: Number(found.workspaces),
  };
}

/** Leaves out sessions and tokens of about a day, which their users replace automatically. */
async function countExpiring(tx: Tx, at: number): Promise<SiteStatistics["tokensExpiring"]> {
  const inDays = (days: number) => new Date(at + days * dayMs).toISOString();
  const within = (days: number) => sql<number>`sum(case when expired_at <= ${inDays(days)} then 1 else 0 end)`;
  const { rows } = await sql<{ kind: string; one: number; seven: number; thirty: number }>`
    select kind, ${within(1)} as one, ${within(7)} as seven, count(*) as thirty
    from tokens
    where expired_at > ${inDays(0)} and expired_at <= ${inDays(30)} and kind <> 'session'
      and not (created_at > ${inDays(-1)} and expired_at <= ${inDays(1)})
    group by kind`.execute(tx.db);
  return Object.fromEntries(
    rows.map(({ kind, one, seven, thirty }) => [kind, { "1": Number(one), "7": Number(seven), "30": Number(thirty) }]),
  );
}
