/** For who runs the service: is it alive, is it ready, what does it do. */
import { timingSafeEqual } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { sql } from "kysely";
import { isSiteAdmin } from "../access/actor.ts";
import type { Database } from "../database/database.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { tokenHash } from "../kernel/ids.ts";
import type { Authenticator } from "./authenticate.ts";

export function mountHealth(server: FastifyInstance, database: Database, isStopping: () => boolean): void {
  server.get("/healthz", async () => ({ status: "alive" }));
  server.get("/readyz", async () => {
    if (isStopping()) throw new AppError("unavailable", "The service is stopping.", { retryAfterSeconds: 5 });
    await sql`select 1`.execute(database.reader.db);
    return { status: "ready" };
  });
}

export interface MetricsOptions {
  readonly database: Database;
  readonly authenticator: Authenticator;
  /** Opens the metrics without a site admin's token. */
  readonly metricsToken: string | undefined;
}

const latencyBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

export function mountMetrics(server: FastifyInstance, { database, authenticator, metricsToken }: MetricsOptions): void {
  const registers = [new Registry()];
  const [registry] = registers as [Registry];
  const labelNames = ["method", "route", "status"];
  const requests = new Counter({
    name: "cadastre_http_requests_total",
    help: "Requests by route and status.",
    labelNames,
    registers,
  });
  const latency = new Histogram({
    name: "cadastre_http_request_duration_seconds",
    help: "Time to answer.",
    labelNames: ["method", "route"],
    buckets: latencyBuckets,
    registers,
  });
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  new Gauge({
    name: "cadastre_event_loop_lag_seconds",
    help: "The 99th percentile of the event loop's lag since the last look.",
    registers,
    collect() {
      this.set(delay.percentile(99) / 1e9);
      delay.reset();
    },
  });
  new Gauge({
    name: "cadastre_database_statements_total",
    help: "Statements run, transaction control not counted.",
    registers,
    collect() {
      this.set(database.statementCount());
    },
  });
  new Gauge({
    name: "cadastre_database_connections",
    help: "Connections to the database.",
    labelNames: ["state"],
    registers,
    collect() {
      const { busy, open } = database.connections();
      this.set({ state: "busy" }, busy);
      this.set({ state: "open" }, open);
    },
  });
  new Gauge({
    name: "cadastre_resident_memory_bytes",
    help: "Memory of the process.",
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });

  server.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unknown";
    requests.inc({ method: request.method, route, status: reply.statusCode });
    latency.observe({ method: request.method, route }, reply.elapsedTime / 1000);
  });

  server.get("/metrics", async (request, reply) => {
    if (!carriesToken(request, metricsToken)) {
      const actor = await authenticator.authenticate(request);
      if (!isSiteAdmin(actor)) throw notFound("page");
    }
    return reply.header("content-type", registry.contentType).send(await registry.metrics());
  });
}

/** Compares hashes, so that the time tells nothing of the token. */
function carriesToken(request: FastifyRequest, token: string | undefined): boolean {
  const sent = request.headers.authorization;
  if (token === undefined || sent === undefined) return false;
  return timingSafeEqual(Buffer.from(tokenHash(sent)), Buffer.from(tokenHash(`Bearer ${token}`)));
}
