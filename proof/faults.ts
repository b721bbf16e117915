/**
 * Proves that one server under load survives the faults of its machine: backups meanwhile, point-in-time recovery, and full disks. See
 * docs/reliability.md; `npm run soak` has the long runs and the kills.
 *
 *   npm run proof:faults                                everything; updates the table in the document
 *   npm run proof:faults -- backup point-in-time        only these, on both databases; updates nothing
 *   npm run proof:faults -- backup --engine sqlite      on one database
 *   npm run proof:faults -- --seconds 20 --rounds 5     longer, with more backups
 *   npm run proof:faults -- --list                      list the proofs
 */
import { parseArgs } from "node:util";
import type { ProofOptions, ProofResult } from "./attempt.ts";
import { proveBackups } from "./backups.ts";
import { proveFullDisk } from "./disks.ts";
import { provePostgresMoment, proveSqliteMoments } from "./point-in-time.ts";
import { faultLines, writeBetween } from "./report.ts";
import type { Engine } from "./service.ts";
import { hasSmallDisks, startedWithSmallDisks } from "./space.ts";

interface FaultOptions extends ProofOptions {
  readonly rounds: number;
}

interface FaultProof {
  readonly name: string;
  readonly title: string;
  readonly engines: readonly Engine[];
  /** Why it can't run here, if it can't. */
  readonly obstacle?: () => string | undefined;
  readonly prove: (engine: Engine, options: FaultOptions) => Promise<ProofResult>;
}

const both: readonly Engine[] = ["sqlite", "postgres"];
const needsMounts = () =>
  hasSmallDisks() ? undefined : "it needs a mount namespace, which this machine doesn't allow (see unshare)";

const proofs: readonly FaultProof[] = [
  {
    name: "backup",
    title: "Backups under load, restored and compared",
    engines: both,
    prove: proveBackups,
  },
  {
    name: "point-in-time",
    title: "Point-in-time recovery, as in operations.md",
    engines: both,
    prove: (engine, options) => (engine === "postgres" ? provePostgresMoment(options) : proveSqliteMoments(options)),
  },
  {
    name: "disk-full",
    title: "Full data disk",
    engines: both,
    obstacle: needsMounts,
    prove: (engine, options) => proveFullDisk("disk-full", engine, options),
  },
  {
    name: "log-full",
    title: "Full disk of PostgreSQL's write-ahead log: the database stops",
    engines: ["postgres"],
    obstacle: needsMounts,
    prove: (engine, options) => proveFullDisk("log-full", engine, options),
  },
];

const say = (line: string): void => console.log(line);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    engine: { type: "string", default: "all" },
    seconds: { type: "string", default: "8" },
    rounds: { type: "string", default: "3" },
    slowness: { type: "string", default: "1" },
    list: { type: "boolean", default: false },
  },
});

async function proveAll(chosen: readonly FaultProof[]): Promise<void> {
  const numbers = [values.seconds, values.rounds, values.slowness].map(Number) as [number, number, number];
  const [seconds, rounds, slowness] = numbers;
  const lines: { readonly title: string; readonly proven: ProofResult | string; readonly engine: Engine }[] = [];
  for (const { name, title, engines, obstacle, prove } of chosen)
    for (const engine of engines.filter((each) => values.engine === "all" || values.engine === each)) {
      say(`\n${name} on ${engine}: ${title}`);
      const proven = obstacle?.() ?? (await prove(engine, { seconds, rounds, slowness, say }));
      lines.push({ title, engine, proven });
      if (typeof proven === "string") say(`  not run: ${proven}`);
      else {
        say(`  ${proven.summary}; ${proven.found} acknowledged writes checked; ${proven.faults.length} faults`);
        for (const fault of proven.faults.slice(0, 20)) say(`  FAULT ${fault}`);
      }
    }
  const isWhole = positionals.length === 0 && values.engine === "all";
  if (isWhole) writeBetween("machine", faultLines(lines));
  const hasFaults = lines.some(({ proven }) => typeof proven !== "string" && proven.faults.length > 0);
  say(hasFaults ? "\nThere were faults." : "\nEvery response was correct, and nothing was lost.");
  process.exitCode = hasFaults ? 1 : 0;
}

const unknown = positionals.filter((word) => !proofs.some(({ name }) => name === word));
const areNumbers = [values.seconds, values.rounds, values.slowness].every((text) => Number(text) > 0);
if (unknown.length > 0 || !areNumbers || !["all", ...both].includes(values.engine)) {
  console.error(
    "Wrong arguments. Give names of proofs (see 'npm run proof:faults -- --list'), --engine sqlite or postgres, and numbers for --seconds, --rounds and --slowness.",
  );
  process.exitCode = 2;
} else if (values.list) {
  for (const { name, title } of proofs) say(`${name.padEnd(16)} ${title}`);
} else {
  const code = hasSmallDisks() ? undefined : await startedWithSmallDisks();
  const chosen = proofs.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  if (code === undefined) await proveAll(chosen);
  else process.exitCode = code;
}
