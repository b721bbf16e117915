/**
 * Measures the CPU time of the main thread per MiB of large inputs: states (with 500 resources per MiB), configurations, logs, plans and
 * schemas, and JSON bodies. More than 50 ms per MiB fails.
 *
 *   npm run bench:inputs                  32 MiB of each, embedded database
 *   npm run bench:inputs -- 16 postgres   16 MiB of each, PostgreSQL
 */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, callerOn, type Json } from "../test/support/api.ts";
import { archive } from "../test/support/archives.ts";
import { buildersOn, data, resource } from "../test/support/builders.ts";
import { createConfiguration, configurationUrlOf } from "../test/support/configurations.ts";
import { addFakeEngine } from "../test/support/engines.ts";
import { type Job, makeAgent, makeSitePool } from "../test/support/agent-callers.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { runBody } from "../test/support/runs.ts";
import { Site } from "../test/support/site.ts";
import { pendingStateAttributes, lock, put, stateOf } from "../test/support/states.ts";

const mebibyte = 1024 * 1024;
const [mebibytes = "32", engine = "sqlite"] = process.argv.slice(2);
const targetSize = Number(mebibytes) * mebibyte;
const msPerMebibyteMax = 50;

/** The main thread's id is the PID; the first field is CPU time in nanoseconds. */
const mainThreadMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;

const filling = (index: number) => createHash("sha256").update(String(index)).digest("base64").repeat(8);

/** Generates items up to this total size. */
function many<T>(size: number, each: (index: number) => T): T[] {
  const found: T[] = [];
  for (let length = 0; length < size; length += JSON.stringify(found.at(-1)).length) found.push(each(found.length));
  return found;
}

const provider = "registry.terraform.io/hashicorp/null";
const stateText = (size: number): string =>
  stateOf({
    resources: many(size, (index) => ({
      mode: "managed",
      type: "null_resource",
      name: `r${index}`,
      provider: `provider["${provider}"]`,
      instances: [{ schema_version: 0, attributes: { id: `i-${index}`, filling: filling(index).repeat(5) } }],
    })),
  });
const planText = (size: number): string =>
  JSON.stringify({
    format_version: "1.2",
    resource_changes: many(size, (index) => ({
      address: `null_resource.r${index}`,
      mode: "managed",
      type: "null_resource",
      name: `r${index}`,
      provider_name: provider,
      change: { actions: ["create"], before: null, after: { id: index, filling: filling(index) }, after_sensitive: {} },
    })),
  });
const schemaText = (size: number): string =>
  JSON.stringify({
    format_version: "1.0",
    provider_schemas: {
      [provider]: {
        resource_schemas: Object.fromEntries(
          many(size, (index) => ({
            block: { attributes: { id: { type: "string", description: filling(index) } } },
          })).map((schema, index) => [index === 0 ? "null_resource" : `type_${index}`, schema]),
        ),
      },
    },
  });

async function measure(site: Site): Promise<void> {
  const served = {
    url: site.url,
    admin: site.admin,
    as: (token: string) => callerOn(site.url, token),
  } as unknown as Api;
  const api: Api = { ...served, ...buildersOn(served) };
  const { admin } = site;
  for (let count = 0; count < 500; count += 1) await admin.get("/organizations/acme/workspaces");
  console.log(`${engine}, ${mebibytes} MiB of each:`);
  const report = async (what: string, bytes: number, work: () => Promise<unknown>): Promise<void> => {
    const before = mainThreadMs(site.serverPid);
    await work();
    const ms = mainThreadMs(site.serverPid) - before;
    const each = ms / (bytes / mebibyte);
    console.log(`| ${what} | ${(bytes / mebibyte).toFixed(0)} | ${ms.toFixed(0)} | ${each.toFixed(1)} |`);
    if (each > msPerMebibyteMax) process.exitCode = 1;
  };
  await withState(site, report);
  await withConfiguration(site, report);
  const agent = await makeAgent(api, await makeSitePool(api));
  await withPlan(site, () => agent.job(), report);
  await withBodies(site, report);
}

type Report = (what: string, bytes: number, work: () => Promise<unknown>) => Promise<void>;

async function withState(site: Site, report: Report): Promise<void> {
  const { admin } = site;
  const id = await site.workspace("state");
  await lock(admin, id);
  const text = stateText(targetSize);
  const version: Json = data(
    await admin.post(`/workspaces/${id}/state-versions`, resource("state-versions", pendingStateAttributes(text))),
  );
  await report("a state, stored and read", text.length, async () => {
    await put(version.attributes["hosted-state-upload-url"], text);
    // Rarely, because polling costs CPU time too.
    while (!data(await admin.get(`/state-versions/${version.id}`)).attributes["resources-processed"]) await sleep(1000);
  });
}

async function withConfiguration(site: Site, report: Report): Promise<void> {
  const { admin } = site;
  const id = await site.workspace("configuration");
  const files = many(targetSize, (index) => ({ name: `f${index}.tf`, content: filling(index).repeat(100) }));
  const bytes = archive(files);
  const version: Json = data(await createConfiguration(admin, id));
  await report("a configuration, unpacked", targetSize, () => put(configurationUrlOf(version), bytes));
}

async function withPlan(site: Site, claim: () => Promise<Job>, report: Report): Promise<void> {
  const { admin } = site;
  const workspaceId = await site.workspace("plan", { "auto-apply": false });
  await site.configuration(workspaceId, { "main.tf": "" });
  const variable = { key: "password", value: "a-password-to-mask", category: "terraform", sensitive: true };
  data(await admin.post(`/workspaces/${workspaceId}/vars`, resource("vars", variable)));
  const run: Json = data(await admin.post("/runs", runBody(workspaceId, { "plan-only": true })));
  const job = await claim();
  await job.act("start");
  const [plan, schemas] = [planText(Math.min(targetSize, 30 * mebibyte)), schemaText(targetSize)];
  await report("a plan, stored", plan.length, () => job.put("contents/plan-json", "", plan));
  await report("its schemas, stored", schemas.length, () => job.put("contents/provider-schemas", "", schemas));
  await report("a log", targetSize, async () => {
    const piece = 'a line of a log, as engines write it: {"@level":"info"}\n'.repeat(4000).slice(0, 192 * 1024);
    for (let offset = 0; offset < targetSize; offset += piece.length) await job.put("log", `&offset=${offset}`, piece);
  });
  await job.act("finish", { result: "finished", "has-changes": true });
  const planId = run.relationships.plan.data.id;
  await report("a plan and its schemas, redacted", plan.length + schemas.length, async () => {
    const answer = await admin.get(`/plans/${planId}/json-output-redacted`);
    if (answer.status !== 200) throw new Error(`the plan got ${answer.status}`);
  });
}

async function withBodies(site: Site, report: Report): Promise<void> {
  const { admin } = site;
  const valueBytes = 250 * 1024;
  const count = Math.ceil(targetSize / valueBytes);
  let id = "";
  await report("values of variables", count * valueBytes, async () => {
    for (let index = 0; index < count; index += 1) {
      // The limit per workspace is 8 MiB.
      if (index % 30 === 0) id = await site.workspace(`bodies-${index}`);
      const variable = { key: `k${index}`, value: "v".repeat(valueBytes), category: "terraform" };
      data(await admin.post(`/workspaces/${id}/vars`, resource("vars", variable)));
    }
  });
  const list = JSON.stringify({
    data: many(900 * 1024, (index) => ({ type: "tags", attributes: { name: `t${index}` } })),
  });
  const sends = Math.ceil(targetSize / list.length);
  await report("bodies of many items", list.length * sends, async () => {
    for (let index = 0; index < sends; index += 1) await admin.post(`/workspaces/${id}/relationships/tags`, list);
  });
}

const folder = mkdtempSync(join(tmpdir(), "cadastre-inputs-"));
const postgres = engine === "postgres" ? await startPostgres({ durable: true }) : undefined;
try {
  const engines = join(folder, "engines");
  addFakeEngine(engines);
  const register = {
    CADASTRE_DATABASE: postgres?.url("postgres") ?? `sqlite:${join(folder, "cadastre.db")}`,
    CADASTRE_ENCRYPTION_KEY: "0123456789abcdef".repeat(4),
  };
  const site = await Site.open({ register, folder, engines, slots: 1, executes: "agent" });
  try {
    // No agent is needed: the job is run here.
    await site.killAgent();
    await measure(site);
  } finally {
    await site.close();
  }
} finally {
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
