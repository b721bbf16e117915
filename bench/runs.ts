/**
 * Measures runs: throughput with many at the same time, and the latency of claims, log lines and cancellation.
 *
 *   npm run bench:runs                       200 runs over 20 workspaces with 4 workers, SQLite, the tests' fake engine
 *   npm run bench:runs -- postgres 40 4      PostgreSQL, 40 runs over 4 workspaces
 *   BENCH_ENGINES=DIRECTORY npm run bench:runs    with the first Terraform in that directory
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { data } from "../test/support/builders.ts";
import type { Site } from "../test/support/site.ts";
import { withSite } from "./site.ts";

const [engine = "sqlite", runCount = "200", workspaceCount = "20"] = process.argv.slice(2);
const workers = 4;
const hasEnded = (status: string) => /^(applied|planned_and_finished|errored|canceled|discarded)$/.test(status);

function report(what: string, times: readonly number[]): void {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) =>
    `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)}`;
  console.log(
    `${what.padEnd(38)} median ${at(0.5).padStart(5)} ms   max ${at(1).padStart(5)} ms   of ${sorted.length}`,
  );
}

interface Queued {
  readonly id: string;
  readonly workspaceId: string;
}

const mainOf = (step: number) => `resource "terraform_data" "step" {\n  input = "${step}"\n}\n`;

/** Each run changes one value, so each creates one state. */
async function queueAll(site: Site, version: string | undefined, ledger: string): Promise<Queued[]> {
  const attributes = version === undefined ? {} : { "terraform-version": version };
  const workspaces: string[] = [];
  for (let at = 0; at < Number(workspaceCount); at += 1)
    workspaces.push(await site.workspace(`many-${at}`, attributes));
  const queued: Queued[] = [];
  for (let at = 0; at < Number(runCount); at += 1) {
    const workspaceId = workspaces[at % workspaces.length] ?? "";
    const settings = { resources: { step: String(at) }, ledger };
    const files = { "main.tf": mainOf(at), "stand-in.json": JSON.stringify(settings) };
    queued.push({ workspaceId, id: await site.run(workspaceId, await site.configuration(workspaceId, files)) });
  }
  return queued;
}

async function many(site: Site, version: string | undefined, ledger: string): Promise<boolean> {
  const startedAt = performance.now();
  const queued = await queueAll(site, version, ledger);
  const queuedAt = performance.now();
  const ends = new Map<string, string>();
  const appliedAt = new Map<string, string>();
  for (const { id } of queued) {
    for (;;) {
      const { attributes } = data(await site.admin.get(`/runs/${id}`));
      ends.set(id, attributes.status);
      appliedAt.set(id, attributes["status-timestamps"]["applying-at"]);
      if (hasEnded(attributes.status)) break;
      await sleep(200);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const once = await Promise.all(
    [...new Set(queued.map(({ workspaceId }) => workspaceId))].map(async (workspaceId) => {
      const own = queued.filter((run) => run.workspaceId === workspaceId).map(({ id }) => id);
      const left = (await site.statesOf(workspaceId)).map(({ runId }) => runId);
      const times = own.map((id) => appliedAt.get(id) ?? "");
      const inOrder = times.every((time, at) => at === 0 || (times[at - 1] ?? "") <= time);
      return inOrder && left.join() === own.join() && !(await site.isLocked(workspaceId));
    }),
  );
  const applied = [...ends.values()].filter((status) => status === "applied").length;
  const isRight = applied === queued.length && once.every(Boolean);
  console.log(
    `${engine}, ${version === undefined ? "stand-in" : `Terraform ${version}`}: ${queued.length} runs over ${once.length} workspaces with ${workers} workers: ${applied} applied in ${seconds.toFixed(0)} s (queued in ${((queuedAt - startedAt) / 1000).toFixed(0)} s)`,
  );
  console.log(
    once.every(Boolean)
      ? "each run created one state, in the order of its workspace, and no lock remained"
      : "THE ORDER, THE STATES OR A LOCK ARE WRONG",
  );
  return isRight;
}

/** From when a run can be claimed until a waiting worker has it. */
async function claims(site: Site, version: string | undefined): Promise<void> {
  const workspaceId = await site.workspace("claims", version === undefined ? {} : { "terraform-version": version });
  const configuration = await site.configuration(workspaceId, { "main.tf": "", "stand-in.json": "{}" });
  const times: number[] = [];
  // The workers may still be starting before the first run.
  await site.waitFor(await site.run(workspaceId, configuration, { "plan-only": true }), "planned_and_finished");
  for (let count = 0; count < 15; count += 1) {
    const id = await site.run(workspaceId, configuration, { "plan-only": true });
    await site.waitFor(id, "planned_and_finished");
    const stamps = data(await site.admin.get(`/runs/${id}`)).attributes["status-timestamps"];
    times.push(Date.parse(stamps["planning-at"]) - Date.parse(stamps["plan-queued-at"]));
  }
  report("claimable to claimed", times);
}

/** From when the engine prints a line until a reader of the log has it. */
async function lines(site: Site): Promise<void> {
  const workspaceId = await site.workspace("lines");
  const settings = { "stand-in.json": JSON.stringify({ ticks: 50 }) };
  const id = await site.run(workspaceId, await site.configuration(workspaceId, settings), { "plan-only": true });
  await site.waitFor(id, "planning");
  const url = data(await site.admin.get(`/runs/${id}/plan`)).attributes["log-read-url"] as string;
  const times: number[] = [];
  let text = "";
  while (!text.endsWith("\u0003")) {
    const more = await (await fetch(`${url}?limit=65536&offset=${text.length}`)).text();
    for (const [, printedAt] of more.matchAll(/tick (\d+)/g)) times.push(Date.now() - Number(printedAt));
    text += more;
    await sleep(20);
  }
  report("a line printed to readable", times);
}

/** From the cancel request until the engine is interrupted. */
async function cancels(site: Site, ledger: string): Promise<void> {
  const times: number[] = [];
  const workspaceId = await site.workspace("cancels");
  const settings = { "stand-in.json": JSON.stringify({ planMs: 60_000, print: ["begun"], ledger }) };
  const configuration = await site.configuration(workspaceId, settings);
  for (let count = 0; count < 10; count += 1) {
    const id = await site.run(workspaceId, configuration, { "plan-only": true });
    await site.waitFor(id, "planning");
    const url = data(await site.admin.get(`/runs/${id}/plan`)).attributes["log-read-url"] as string;
    while (!(await (await fetch(url)).text()).includes("begun")) await sleep(50);
    const askedAt = Date.now();
    data(await site.admin.post(`/runs/${id}/actions/cancel`));
    await site.waitFor(id, "canceled");
    const at = new RegExp(`^${id} interrupted (\\d+)$`, "m").exec(readFileSync(ledger, "utf8"))?.[1];
    times.push(Number(at) - askedAt);
  }
  report("cancel requested to engine interrupted", times);
}

await withSite(engine, workers, async ({ site, folder, version }) => {
  const ledger = join(folder, "ledger");
  await claims(site, version);
  if (version === undefined) {
    await lines(site);
    await cancels(site, ledger);
  }
  if (!(await many(site, version, ledger))) process.exitCode = 1;
});
