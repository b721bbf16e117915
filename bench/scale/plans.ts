/** Finds full scans of tenant tables in the query plans. */
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import pg from "pg";

export interface Statement {
  readonly text: string;
  readonly parameters: readonly unknown[];
}

/** A full scan and its statement. */
export interface Scan {
  readonly table: string;
  readonly how: string;
  readonly statement: string;
}

/** Scanning a few pages is faster than using an index. */
const rowsOfALargeTable = 5_000;

export async function plansOf(address: string, statements: readonly Statement[]): Promise<Scan[]> {
  return address.startsWith("sqlite:")
    ? sqliteScans(address.slice("sqlite:".length), statements)
    : postgresScans(address, statements);
}

/**
 * Reads the byte code instead of EXPLAIN QUERY PLAN, which doesn't distinguish tables from subqueries. A scan is a cursor that is moved to the
 * first or last entry instead of being searched.
 */
function sqliteScans(path: string, statements: readonly Statement[]): Scan[] {
  const file = new DatabaseSync(path, { readOnly: true });
  // Registers the server's SQL function, which only needs to exist here.
  file.aggregate("bit_or", { start: 0, step: (sum: number, mask: SQLInputValue) => sum | Number(mask) } as never);
  const sizes = file.prepare("select tbl as name, max(cast(stat as integer)) as size from sqlite_stat1 group by tbl");
  const large = new Set(
    sizes.all().flatMap(({ name, size }) => (Number(size) >= rowsOfALargeTable ? [String(name)] : [])),
  );
  const pages = file.prepare("select rootpage, name, tbl_name as tbl from sqlite_master where rootpage > 0").all();
  const roots = new Map(
    pages.map(({ rootpage, name, tbl }) => [Number(rootpage), { name: String(name), table: String(tbl) }]),
  );
  const scans = statements.flatMap(({ text, parameters }) => {
    const steps = file.prepare(`explain ${text}`).all(...(parameters as SQLInputValue[]));
    const opened = new Map(
      steps.flatMap(({ opcode, p1, p2 }) => (opcode === "OpenRead" ? [[p1, roots.get(Number(p2))] as const] : [])),
    );
    return steps.flatMap(({ opcode, p1 }) => {
      const found = opcode === "Rewind" || opcode === "Last" ? opened.get(p1) : undefined;
      return found !== undefined && large.has(found.table)
        ? [{ table: found.table, how: `all of ${found.name}`, statement: text }]
        : [];
    });
  });
  file.close();
  return scans;
}

interface Node {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Node[];
}

async function postgresScans(address: string, statements: readonly Statement[]): Promise<Scan[]> {
  const client = new pg.Client({ connectionString: address });
  await client.connect();
  const large = new Set<string>();
  const { rows } = await client.query<{ name: string }>(
    "select relname as name from pg_class where relkind = 'r' and reltuples >= $1",
    [rowsOfALargeTable],
  );
  for (const { name } of rows) large.add(name);
  const scans: Scan[] = [];
  for (const { text, parameters } of statements) {
    const explained = await client.query<{ "QUERY PLAN": { Plan: Node }[] }>(`explain (format json) ${text}`, [
      ...parameters,
    ]);
    const visit = (node: Node): void => {
      const table = node["Relation Name"] ?? "";
      if (node["Node Type"] === "Seq Scan" && large.has(table)) {
        scans.push({ table, how: `Seq Scan on ${table}`, statement: text });
      }
      node.Plans?.forEach(visit);
    };
    visit(explained.rows[0]!["QUERY PLAN"][0]!.Plan);
  }
  await client.end();
  return scans;
}
