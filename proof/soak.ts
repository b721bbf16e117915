/**
 * Runs one server under mixed load for a long time: memory and latency must not grow, and every response must be correct. With --kills the
 * server is killed (kill -9) repeatedly, and no acknowledged write may be lost. See docs/reliability.md.
 *
 *   npm run soak                                   an hour on each database
 *   npm run soak -- sqlite --minutes 10            one database, shorter
 *   npm run soak -- --kills --minutes 5            killed every few seconds
 *   npm run soak -- --slowness 4                   a quarter of the load, for a shared machine
 *   npm run soak -- --minutes 10 --write           also updates the table in the document
 */
import { parseArgs } from "node:util";
import { soakLines, writeBetween } from "./report.ts";
import type { Engine } from "./service.ts";
import { say, soak, type SoakResult } from "./soak-run.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    minutes: { type: "string", default: "60" },
    kills: { type: "boolean", default: false },
    slowness: { type: "string", default: "1" },
    write: { type: "boolean", default: false },
  },
});
const engines = positionals.length > 0 ? positionals : ["sqlite", "postgres"];
const [minutes, slowness] = [Number(values.minutes), Number(values.slowness)];
if (!(minutes > 0) || !(slowness > 0) || engines.some((engine) => engine !== "sqlite" && engine !== "postgres")) {
  console.error("Wrong arguments. Give sqlite or postgres (default: both), --minutes NUMBER and --slowness NUMBER.");
  process.exit(2);
}

const results: SoakResult[] = [];
for (const engine of engines) results.push(await soak(engine as Engine, { minutes, isKilled: values.kills, slowness }));
const faults = results.flatMap((result) => result.faults);
for (const fault of faults.slice(0, 20)) say(`FAULT ${fault}`);
say(faults.length === 0 ? "Every response was correct; nothing grew." : `${faults.length} faults.`);
const mark = values.kills ? "kills" : "soak";
for (const result of results) {
  const lines = soakLines(result, values.kills);
  if (values.write) writeBetween(`${mark}-${result.engine}`, lines);
  else say(lines.join("\n"));
}
process.exitCode = faults.length === 0 ? 0 : 1;
