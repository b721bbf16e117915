/** The figures of a run as tables that can be pasted into docs/reference/benchmarks.md. */

/** `elsewhere`: in another organization. */
const besides = ["at rest", "beside writes", "beside writes elsewhere"] as const;

export interface Row {
  readonly engine: string;
  readonly size: number;
  readonly name: string;
  readonly beside: (typeof besides)[number];
  /** CPU time of the process for a request, in microseconds. */
  readonly cpu: number;
  readonly byCpu: number;
  readonly byThroughput: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** 99th percentile of the bare server, as a multiple of its median. */
  readonly bareTail: number;
  readonly commitsEach: number | undefined;
}

export function printTables(rows: readonly Row[]): void {
  for (const engine of new Set(rows.map((row) => row.engine))) {
    for (const beside of besides) {
      const chosen = rows.filter((row) => row.engine === engine && row.beside === beside);
      if (chosen.length > 0) printTable(`${engine}, ${beside}`, chosen);
    }
  }
}

function printTable(title: string, rows: readonly Row[]): void {
  const sizes = [...new Set(rows.map((row) => row.size))];
  console.log(
    `\n${title}: CPU time of a request (reads: share of a bare node:http server by CPU time, by throughput; writes: times bare)\n`,
  );
  console.log(
    `| | ${sizes.map((size) => size.toLocaleString("en")).join(" | ")} |\n|---|${sizes.map(() => "---:|").join("")}`,
  );
  for (const name of new Set(rows.map((row) => row.name))) {
    const cells = sizes.map((size) => rows.find((row) => row.size === size && row.name === name));
    console.log(`| ${name} | ${cells.map((cell) => (cell === undefined ? "" : cellOf(cell))).join(" | ")} |`);
  }
}

/** Reads as a share of the bare server, writes as a multiple. */
const cellOf = ({ cpu, byCpu, byThroughput, commitsEach, p50, p99, bareTail }: Row): string => {
  const tail = `p99 ${(p99 / p50).toFixed(1)} × p50, bare ${bareTail.toFixed(1)} ×`;
  return commitsEach === undefined
    ? `${cpu.toFixed(0)} µs (${byCpu.toFixed(2)}, ${byThroughput.toFixed(2)}; ${tail})`
    : `${cpu.toFixed(0)} µs (${(1 / byCpu).toFixed(0)} ×; ${commitsEach.toFixed(2)} commits; ${tail})`;
};
