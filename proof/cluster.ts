/**
 * Proves the guarantees of several servers while parts of their cluster fail (see docs/reliability.md).
 *
 *   npm run cluster                                every scenario, on a new cluster; updates the table in the document
 *   npm run cluster -- primary-killed disk-full    only these; updates nothing
 *   npm run cluster -- --list                      list the scenarios
 *   npm run cluster -- --up                        only start the cluster, until Ctrl+C
 */
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Cluster, isReady } from "../deploy/cluster/cluster.ts";
import { until } from "../deploy/cluster/parts.ts";
import { aftermathOf } from "./aftermath.ts";
import { History } from "./history.ts";
import { Load } from "./load.ts";
import { type Line, lineOf, writeTable } from "./report.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { hasSmallDisks, mountSmallDisk, startedWithSmallDisks, unmount } from "./space.ts";
import { Stage } from "./stage.ts";
import { faultsOf, figuresOf } from "./checker.ts";
import { World } from "./world.ts";

const historyFolder = fileURLToPath(new URL("../node_modules/.cache/cadastre/cluster/", import.meta.url));
const say = (line: string) => console.log(line);
const calmMs = 5_000;

async function prove(cluster: Cluster, scenario: Scenario, number: number): Promise<Line> {
  const obstacle = scenario.obstacle?.(cluster);
  if (obstacle !== undefined) return { scenario, obstacle };
  say(`\n${scenario.name}: ${scenario.title}`);
  const history = new History(join(historyFolder, `${scenario.name}.jsonl`));
  const stage = new Stage(cluster.servers, history);
  const [server] = cluster.servers as [(typeof cluster.servers)[0]];
  const world = await World.make(server, cluster.adminToken, `proof-${number}-${Date.now().toString(36)}`);
  const load = await Load.prepare(stage, world);
  load.begin();
  await sleep(calmMs);
  const failure = await scenario.run(cluster, stage).then(
    () => [],
    (error: Error) => [`the scenario failed: ${error.message}`],
  );
  const recovery = await recovered(cluster);
  await sleep(calmMs);
  await load.end();
  const aftermath = await aftermathOf(world, server, history).catch((error: Error) => ({
    faults: [`the data could not be checked: ${error.message}`],
    found: 0,
  }));
  await load.endAgents();
  await history.close();
  const faults = [...failure, ...recovery, ...faultsOf(history), ...aftermath.faults];
  const line = lineOf(scenario, figuresOf(history), faults, aftermath.found);
  say(`  ${line.summary}`);
  for (const fault of faults.slice(0, 20)) say(`  FAULT ${fault}`);
  if (faults.length > 0) say(`  ${faults.length} faults; the history is ${history.file}`);
  return line;
}

/** Recovery must be automatic. */
async function recovered(cluster: Cluster): Promise<string[]> {
  try {
    await until(async () => (await Promise.all(cluster.servers.map(isReady))).every(Boolean), "servers are ready", 120);
    await cluster.untilWhole(180);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

async function runUntilStopped(): Promise<void> {
  const cluster = await Cluster.start({ servicePort: 8080, say });
  say(`\n  Address   http://127.0.0.1:${cluster.servicePort}`);
  for (const { name, url } of cluster.servers) say(`  ${name}   ${url}`);
  say(`\n  export TOKEN=${cluster.adminToken}\n\nPress Ctrl+C to stop it and delete its data.`);
  await Promise.race([once(process, "SIGINT"), once(process, "SIGTERM")]);
  await cluster.stop();
  cluster.remove();
}

/** Scenarios with small disks need a separate cluster. */
async function proveAll(chosen: readonly Scenario[], isWhole: boolean): Promise<void> {
  const onOwnDisk = await proveOn(chosen.filter(({ onSmallDisks }) => onSmallDisks !== true));
  const onSmallDisks = await proveOn(
    chosen.filter((each) => each.onSmallDisks === true),
    mountSmallDisk,
  );
  const lines = [...onOwnDisk, ...onSmallDisks];
  if (isWhole) writeTable(lines);
  const hasFaults = lines.some(isFaulty);
  say(hasFaults ? "\nThere were faults." : "\nEvery response was correct, or an explicit 503.");
  process.exitCode = hasFaults ? 1 : 0;
}

async function proveOn(chosen: readonly Scenario[], mount?: typeof mountSmallDisk): Promise<Line[]> {
  if (chosen.length === 0) return [];
  const isMounted = mount !== undefined && hasSmallDisks();
  const cluster = await Cluster.start({ say, ...(isMounted && { prepareSpace: mount }) });
  const end = () => void cluster.stop().finally(() => process.exit(1));
  process.once("SIGINT", end).once("SIGTERM", end);
  const lines: Line[] = [];
  try {
    for (const [index, scenario] of chosen.entries()) lines.push(await prove(cluster, scenario, index));
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end);
    await cluster.stop();
  }
  if (lines.some(isFaulty)) say(`\nLogs: ${cluster.folder}`);
  else {
    if (isMounted) for (const { dataFolder } of cluster.nodes) unmount(dataFolder);
    cluster.remove();
  }
  return lines;
}

const isFaulty = (line: Line): boolean => "faults" in line && line.faults.length > 0;

const words = process.argv.slice(2);
const unknown = words.filter(
  (word) => !["--list", "--up"].includes(word) && !scenarios.some(({ name }) => name === word),
);
const chosen = scenarios.filter(({ name }) => words.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown scenario: ${unknown.join(", ")}. See 'npm run cluster -- --list'.`);
  process.exitCode = 2;
} else if (words.includes("--list")) {
  for (const { name, title } of scenarios) say(`${name.padEnd(18)} ${title}`);
} else if (words.includes("--up")) {
  await runUntilStopped();
} else {
  const code = hasSmallDisks() ? undefined : await startedWithSmallDisks();
  if (code === undefined) await proveAll(chosen.length > 0 ? chosen : scenarios, chosen.length === 0);
  else process.exitCode = code;
}
