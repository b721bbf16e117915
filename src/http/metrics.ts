/** `GET /metrics` in the Prometheus format, with the metrics of this process: requests, events, resources. */
import { timingSafeEqual } from "node:crypto";
import { readdirSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { isSiteAdmin } from "../access/actor.ts";
import type { Database } from "../database/database.ts";
import { notFound } from "../kernel/errors.ts";
import { tokenHash } from "../kernel/ids.ts";
import { contentRequests, deliveryAttempts, vcsEventMeasurements } from "../resources/shared/process-events.ts";
import type { Authenticator } from "./authenticate.ts";
import type { ResponseCache } from "./response-cache.ts";
import {
  countEndedPhases,
  watchBacklogs,
  watchBackups,
  watchStatistics,
  watchJobs,
  watchLocks,
  watchRuns,
} from "./register-metrics.ts";

export interface MetricsOptions {
  readonly database: Database;
  readonly authenticator: Authenticator;
  readonly metricsToken: string | undefined;
  readonly cache: ResponseCache;
  readonly version: string;
}

export function mountMetrics(
  server: FastifyInstance,
  { database, authenticator, metricsToken, cache, version }: MetricsOptions,
): RequestMetrics {
  const registry = new Registry();
  const requests = new RequestMetrics();
  server.addHook("onResponse", (request, reply, done) => {
    requests.count(request.method, request.routeOptions.url ?? "unknown", reply.statusCode, reply.elapsedTime);
    done();
  });
  setBuildInfo(registry, { version, engine: database.dialect.name });
  watchProcess(server, registry);
  watchDatabase(registry, database);
  gauge(registry, "cadastre_kept_answers_bytes", "Memory used by the response cache.", (size) => {
    size.set(cache.bytes);
  });
  const collectors = [watchJobs, watchRuns, watchLocks, watchBacklogs, watchStatistics, watchBackups].map((watch) =>
    watch(registry, database),
  );
  const unsubscribes = [
    countEndedPhases(registry),
    countVcsEvents(registry),
    countAttempts(registry),
    countContents(registry),
  ];
  server.addHook("onClose", async () => {
    for (const unsubscribe of unsubscribes) unsubscribe();
  });
  server.get("/metrics", async (request, reply) => {
    if (!carriesToken(request, metricsToken)) {
      const { actor } = await authenticator.authenticate(request);
      if (!isSiteAdmin(actor)) throw notFound("page");
    }
    await Promise.all(collectors.map((collect) => collect()));
    return reply.header("content-type", registry.contentType).send(`${requests.text()}\n${await registry.metrics()}`);
  });
  return requests;
}

function setBuildInfo(registry: Registry, { version, engine }: { version: string; engine: string }): void {
  const labels = { version, node: process.versions.node, database: engine };
  const build = new Gauge({
    name: "cadastre_build_info",
    help: "1, with the version, the Node version and the database as labels.",
    labelNames: Object.keys(labels),
    registers: [registry],
  });
  build.set(labels, 1);
}

type Measure = (gauge: Gauge) => void;

function gauge(registry: Registry, name: string, help: string, measure: Measure, labelNames: string[] = []): void {
  const created: Gauge = new Gauge({ name, help, labelNames, registers: [registry], collect: () => measure(created) });
}

function counter(registry: Registry, name: string, help: string, count: () => number): void {
  const collect = () => {
    created.reset();
    created.inc(count());
  };
  const created: Counter = new Counter({ name, help, registers: [registry], collect });
}

function watchProcess(server: FastifyInstance, registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  server.addHook("onClose", async () => {
    delay.disable();
  });
  const lagHelp = "The 99th percentile of the event loop lag since the last scrape.";
  gauge(registry, "cadastre_event_loop_lag_seconds", lagHelp, (lag) => {
    lag.set(delay.percentile(99) / 1e9);
    delay.reset();
  });
  gauge(registry, "cadastre_resident_memory_bytes", "Memory of the process.", (memory) => {
    memory.set(process.memoryUsage.rss());
  });
  // Named as by Prometheus' own clients, so that generic dashboards find them.
  const startedAt = Math.round(Date.now() / 1000 - process.uptime());
  gauge(registry, "process_start_time_seconds", "When the process was started.", (start) => start.set(startedAt));
  counter(registry, "process_cpu_seconds_total", "Processor time of the process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
  gauge(registry, "process_open_fds", "Open files and connections of the process.", (open) => {
    const count = openFiles();
    if (count !== undefined) open.set(count);
  });
}

function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}

function watchDatabase(registry: Registry, database: Database): void {
  counter(registry, "cadastre_database_statements_total", "Statements run, transaction control not counted.", () =>
    database.statementCount(),
  );
  counter(registry, "cadastre_database_commits_total", "Transactions that wrote something.", () =>
    database.commitCount(),
  );
  const measure: Measure = (connections) => {
    const { busy, open } = database.connections();
    connections.set({ state: "busy" }, busy);
    connections.set({ state: "open" }, open);
  };
  gauge(registry, "cadastre_database_connections", "Connections to the database.", measure, ["state"]);
}

/** Compares hashes, so that the time reveals nothing about the token. */
function carriesToken(request: FastifyRequest, token: string | undefined): boolean {
  const sent = request.headers.authorization;
  if (token === undefined || sent === undefined) return false;
  return timingSafeEqual(Buffer.from(tokenHash(sent)), Buffer.from(tokenHash(`Bearer ${token}`)));
}

const secondsMax = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

class RouteMetrics {
  readonly byStatus = new Map<number, number>();
  readonly byTime: number[] = Array.from({ length: secondsMax.length + 1 }, () => 0);
  secondsSum = 0;

  count(status: number, seconds: number): void {
    this.byStatus.set(status, (this.byStatus.get(status) ?? 0) + 1);
    let bucket = 0;
    while (bucket < secondsMax.length && seconds > secondsMax[bucket]!) bucket += 1;
    this.byTime[bucket]! += 1;
    this.secondsSum += seconds;
  }
}

const [requestsName, durationName] = ["cadastre_http_requests_total", "cadastre_http_request_duration_seconds"];

export class RequestMetrics {
  readonly #byMethod = new Map<string, Map<string, RouteMetrics>>();

  count(method: string, route: string, status: number, ms: number): void {
    let byRoute = this.#byMethod.get(method);
    if (byRoute === undefined) this.#byMethod.set(method, (byRoute = new Map()));
    let metrics = byRoute.get(route);
    if (metrics === undefined) byRoute.set(route, (metrics = new RouteMetrics()));
    metrics.count(status, ms / 1000);
  }

  text(): string {
    const all = [...this.#byMethod].flatMap(([method, byRoute]) =>
      [...byRoute].map(([route, metrics]) => ({ labels: `method="${method}",route="${route}"`, metrics })),
    );
    const lines = [
      `# HELP ${requestsName} Requests by route and status.`,
      `# TYPE ${requestsName} counter`,
      ...all.flatMap(({ labels, metrics }) =>
        [...metrics.byStatus].map(([status, count]) => `${requestsName}{${labels},status="${status}"} ${count}`),
      ),
      `# HELP ${durationName} Duration of requests.`,
      `# TYPE ${durationName} histogram`,
      ...all.flatMap(({ labels, metrics }) => durations(labels, metrics)),
    ];
    return `${lines.join("\n")}\n`;
  }
}

function durations(labels: string, { byTime, secondsSum }: RouteMetrics): string[] {
  let count = 0;
  const buckets = [...secondsMax, "+Inf"].map((limit, bucket) => {
    count += byTime[bucket]!;
    return `${durationName}_bucket{le="${limit}",${labels}} ${count}`;
  });
  return [...buckets, `${durationName}_sum{${labels}} ${secondsSum}`, `${durationName}_count{${labels}} ${count}`];
}

function countVcsEvents(registry: Registry): () => void {
  const events = new Counter({
    name: "cadastre_vcs_events_total",
    help: "VCS webhooks that this server received: stored, repeated (already known), unknown (not relevant) or refused; and events that it processed: started, ignored or failed.",
    labelNames: ["provider", "result"],
    registers: [registry],
  });
  return vcsEventMeasurements.subscribe(({ provider, result }) => events.inc({ provider, result }));
}

function countAttempts(registry: Registry): () => void {
  const attempts = new Counter({
    name: "cadastre_notice_attempts_total",
    help: "Notifications that this server tried to deliver, by result: delivered, retried or failed.",
    labelNames: ["kind", "result"],
    registers: [registry],
  });
  return deliveryAttempts.subscribe(({ kind, result }) => attempts.inc({ kind, result }));
}

function countContents(registry: Registry): () => void {
  const common = { labelNames: ["operation", "result"], registers: [registry] };
  const requests = new Counter({
    name: "cadastre_contents_requests_total",
    help: "Requests of this server to the object store: put, get, delete or list; by result: ok, refused, unavailable or missing.",
    ...common,
  });
  const seconds = new Histogram({
    name: "cadastre_contents_seconds",
    help: "Duration of requests to the object store; of a get until its last byte was read.",
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ...common,
  });
  return contentRequests.subscribe(({ operation, result, seconds: taken }) => {
    requests.inc({ operation, result });
    seconds.observe({ operation, result }, taken);
  });
}
