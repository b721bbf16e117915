/**
 * Measures the memory that a long log needs: an apply prints 100 MiB, which are stored and read by range, while the memory of the server and
 * its workers is sampled. A log beyond the limit is cut.
 *
 *   npm run bench:log                   100 MiB, embedded database
 *   npm run bench:log -- 520 postgres   520 MiB, PostgreSQL: 512 MiB are kept
 */
import { data } from "../test/support/builders.ts";
import { childrenOf, type Site } from "../test/support/site.ts";
import { withSite } from "./site.ts";
import { MemorySampler } from "./memory-sampler.ts";

const mebibyte = 1024 * 1024;
const [mebibytes = "100", engine = "sqlite"] = process.argv.slice(2);
const bytes = Number(mebibytes) * mebibyte;
const keptMax = 512 * mebibyte;

/** Reads by consecutive ranges, like clients. */
async function readAll(url: string): Promise<{ size: number; end: string }> {
  let size = 0;
  let end = "";
  for (;;) {
    const piece = Buffer.from(await (await fetch(`${url}?limit=65536&offset=${size}`)).arrayBuffer());
    if (piece.length === 0) return { size, end };
    size += piece.length;
    end = (end + piece.toString("latin1")).slice(-400);
  }
}

/** The workers' process, and that of the job. */
function workersOf({ output: said }: Site): number[] {
  const worker = Number(/"worker":(\d+)/.exec(said)?.[1]);
  return [worker, ...childrenOf(worker)];
}

await withSite(engine, 1, async ({ site }) => {
  const workspaceId = await site.workspace("loud");
  const files = { "stand-in.json": JSON.stringify({ resources: { one: "1" }, noiseBytes: bytes }) };
  const configuration = await site.configuration(workspaceId, files);
  const quiet = { "stand-in.json": JSON.stringify({ resources: { none: "1" } }) };
  const first = await site.configuration(workspaceId, quiet);
  // Warms up, so that normal memory isn't counted.
  for (let count = 0; count < 5; count += 1)
    await site.waitFor(await site.run(workspaceId, first), "applied", "planned_and_finished");
  for (let count = 0; count < 1000; count += 1) await site.admin.get(`/workspaces/${workspaceId}`);
  const [server, worker] = [new MemorySampler(() => [site.serverPid]), new MemorySampler(() => workersOf(site))];
  const before = [server.sample(), worker.sample()] as const;
  const grown = () =>
    `memory at most +${((server.max() - before[0]) / mebibyte).toFixed(0)} MiB in the service, +${((worker.max() - before[1]) / mebibyte).toFixed(0)} MiB in its workers`;
  let startedAt = performance.now();
  const id = await site.run(workspaceId, configuration);
  const status = await site.waitFor(id, "applied", "errored");
  console.log(
    `${engine}: ${mebibytes} MiB written in ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${grown()}`,
  );
  const url = data(await site.admin.get(`/runs/${id}/apply`)).attributes["log-read-url"] as string;
  startedAt = performance.now();
  const { size, end } = await readAll(url);
  console.log(`read by range in ${((performance.now() - startedAt) / 1000).toFixed(1)} s, ${grown()}`);
  const isCut = end.includes("The log has reached its limit");
  const isRight = end.endsWith("\u0003") && (bytes > keptMax ? isCut && size <= keptMax : !isCut && size > bytes);
  console.log(`${status}; ${size} bytes${isCut ? ", cut at the limit" : ""}: ${isRight ? "right" : "WRONG"}`);
  for (const watch of [server, worker]) watch.stop();
  if (!isRight || status !== "applied" || server.max() - before[0] >= 96 * mebibyte) process.exitCode = 1;
});
