/** The composition root: starts server, jobs and workers on one database. `resources/index.ts` connects the resources. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Server as SecureServer } from "node:tls";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { announcement, logDeprecated, logStart, type StartedService } from "./announcement.ts";
import { ConsoleFiles } from "./console.ts";
import { openPlace, startPlace } from "./contents.ts";
import { type ClockWatch, watchClock } from "./database/clock.ts";
import type { Database } from "./database/database.ts";
import type { Fence } from "./database/fence.ts";
import { type MigrationReport, recordReadyMigration } from "./database/migrate.ts";
import type { Migration } from "./database/migrations/migration.ts";
import { batchedDestination, readableDestination } from "./http/log-output.ts";
import { newLogger } from "./http/log.ts";
import { createServer, urlOf } from "./http/server.ts";
import { backupJobs, contentJobs, jobs } from "./jobs/index.ts";
import { BackgroundJobRunner } from "./jobs/runner.ts";
import type { ContentPlace } from "./resources/shared/contents/content-place.ts";
import type { ServiceOptions } from "./resources/shared/context.ts";
import { failedRules } from "./resources/shared/process-events.ts";
import { describeGitSandbox } from "./resources/vcs/fetching/git-sandbox.ts";
import { ensureFirstAdmin, openUnprepared } from "./service.ts";
import { type DeprecatedSetting, SettingError } from "./kernel/settings.ts";
import { type Settings } from "./settings.ts";
import { readPair, type TlsPair, TlsWatch } from "./tls.ts";
import { version } from "./version.ts";
import { requireEngine, Workers, type WorkersOptions } from "./workers.ts";

export interface RunningService {
  readonly url: string;
  /** Drains, then finishes the running requests within the grace period. */
  stop(): Promise<void>;
  reload(): void;
}

export interface ServeOptions {
  readonly say?: (line: string) => void;
  readonly isTerminal?: boolean;
  readonly deprecated?: readonly DeprecatedSetting[];
  /** For tests of upgrades. */
  readonly migrations?: readonly Migration[];
}

/** Throws SettingError or AppError with a sentence for the operator. */
export async function serve(settings: Settings, options: ServeOptions = {}): Promise<RunningService> {
  const { say = console.log, isTerminal = false, migrations, deprecated = [] } = options;
  const tls = readTls(settings);
  await requireEngine(settings);
  const { database, vault, prepare } = openUnprepared(settings, migrations);
  const logger = loggerFor(settings, { isTerminal, deprecated });
  const consoleFiles = settings.console === "on" ? new ConsoleFiles(logger) : undefined;
  configureFence(database.fence, settings, logger);
  const contentPlace = openPlace(settings, logger);
  let phase: "starting" | "serving" | "draining" = "starting";
  const server = createServer({
    isStarting: () => phase === "starting",
    isDraining: () => phase === "draining",
    database,
    vault,
    options: { ...settings, mail: mailOf(settings), contentPlace },
    wake: (name) => runner.wake(name),
    version,
    logger,
    ...requestSettings(settings),
    tls,
    console: consoleFiles,
  });
  logFailedRules(server, logger);
  const urlNow = () => urlOf(server, { tls });
  const allJobs = [...jobs, ...contentJobs(contentPlace), ...backupJobs(settings, version)];
  const jobOptions = optionsOf(settings, urlNow, contentPlace);
  const runner = new BackgroundJobRunner({ database, vault, logger, jobs: allJobs, options: jobOptions });
  let clock: ClockWatch | undefined;
  let workers: Workers | undefined;
  try {
    // Slow steps come before the migration, at which older servers may stop writing.
    await Promise.all([listen(server, settings), consoleFiles?.open()]);
    await prepare(reportTo({ say, isTerminal }, logger));
    await startPlace(settings, contentPlace, database, (sentence) => logger.warn(sentence));
    clock = await watchClock(database);
    const url = urlNow();
    // Workers that can't start fail the start, so they come before the first admin, whose token is shown once.
    workers = await startWorkers({ database, settings, url, logger });
    const admin = await ensureFirstAdmin(database, settings);
    phase = "serving";
    await recordReadyMigration(database, migrations);
    announce({ settings, url, admin }, { say, logger });
    const watch = watchTls(server, settings, tls);
    runner.start();
    void logGitSandbox(settings, logger);
    return {
      url,
      reload: () => reload(watch, logger),
      stop: async () => {
        phase = "draining";
        watch?.stop();
        consoleFiles?.stop();
        // Workers report the end of their runs to this server.
        await Promise.all([drain(settings, logger), workers?.stop(settings.graceSeconds)]);
        await stop({ server, runner, database, clock, contentPlace }, settings.graceSeconds);
      },
    };
  } catch (error) {
    await closeAfterFailedStart({ server, runner, database, clock, contentPlace }, workers);
    throw error;
  }
}

const requestSettings = ({ rateLimit, cacheMb, trustedProxies, metricsToken }: Settings) => ({
  rateLimit,
  cacheBytes: cacheMb * 2 ** 20,
  trustedProxies: trustedProxies.length > 0 ? trustedProxies : undefined,
  metricsToken,
});

function logFailedRules(server: FastifyInstance, logger: Logger): void {
  const stop = failedRules.subscribe((failure) => logger.warn(failure, "access rule could not be evaluated"));
  server.addHook("onClose", async () => stop());
}

async function logGitSandbox({ sandbox }: Settings, logger: Logger): Promise<void> {
  logger.info({ description: await describeGitSandbox(sandbox) }, "code fetching configured");
}

function configureFence(fence: Fence, { drainSeconds }: Settings, logger: Logger): void {
  fence.onRefusal = (reason) => logger.error({ reason }, "writes refused");
  fence.handoverMs = drainSeconds * 1000;
}

function announce(started: StartedService, { say, logger }: { say: (line: string) => void; logger: Logger }): void {
  if (started.settings.logFormat === "json") logStart(logger, started);
  else say(announcement(started));
}

/** A terminal hides informational log lines, so migrations are printed, except those of a new database. */
function reportTo(
  { say, isTerminal }: Required<Pick<ServeOptions, "say" | "isTerminal">>,
  logger: Logger,
): MigrationReport {
  return (line, isNew) => {
    if (!isTerminal) logger.info(line);
    else if (!isNew) say(`  ${line}`);
  };
}

function loggerFor(
  { logLevel, logFormat }: Settings,
  { isTerminal, deprecated }: Required<Pick<ServeOptions, "isTerminal" | "deprecated">>,
): Logger {
  const isText = logFormat === undefined ? isTerminal : logFormat === "text";
  const isColoured = isTerminal && (process.env["NO_COLOR"] ?? "") === "";
  const destination = isText ? readableDestination(batchedDestination(), isColoured) : batchedDestination();
  const logger = newLogger(logLevel ?? (isTerminal ? "warn" : "info"), destination);
  logDeprecated(logger, deprecated);
  return logger;
}

async function startWorkers(options: WorkersOptions): Promise<Workers | undefined> {
  const { settings, url } = options;
  return settings.workers > 0 ? Workers.start({ ...options, url: urlForWorkers(settings, url) }) : undefined;
}

function optionsOf(
  settings: Settings,
  listeningUrl: () => string,
  contentPlace: ContentPlace | undefined,
): ServiceOptions {
  const { organizationCreation, edition, globalRemoteStateDefault } = settings;
  const { engine, planTimeoutSeconds, applyTimeoutSeconds, sessionHours, privateAddresses } = settings;
  const { plansForks, knownHosts, sandbox } = settings;
  return {
    organizationCreation,
    edition,
    globalRemoteStateDefault,
    engine,
    sessionHours,
    privateAddresses,
    plansForks,
    knownHosts,
    sandbox,
    planTimeoutSeconds,
    applyTimeoutSeconds,
    mail: mailOf(settings),
    contentPlace,
    get publicUrl() {
      return settings.publicUrl ?? listeningUrl();
    },
  };
}

const mailOf = ({ smtpUrl: url, smtpFrom: from }: Settings): ServiceOptions["mail"] =>
  url === undefined || from === undefined ? undefined : { url, from };

/** A certificate is valid only for the public name. */
function urlForWorkers({ tlsCert, publicUrl }: Settings, url: string): string {
  return tlsCert !== undefined && publicUrl !== undefined ? publicUrl : url;
}

/** Load balancers need time to notice that the server is not ready. */
async function drain({ drainSeconds }: Settings, logger: Pick<Logger, "info">): Promise<void> {
  if (drainSeconds === 0) return;
  logger.info({ drainSeconds }, "draining");
  await sleep(drainSeconds * 1000);
}

const sweepMs = 50;

interface ServiceParts {
  readonly server: FastifyInstance;
  readonly runner: BackgroundJobRunner;
  readonly database: Database;
  readonly clock: ClockWatch | undefined;
  readonly contentPlace: ContentPlace | undefined;
}

/** If the database can't be written to, the workers' token stays until the next start revokes it. */
async function closeAfterFailedStart(
  { server, runner, database, clock, contentPlace }: ServiceParts,
  workers: Workers | undefined,
): Promise<void> {
  await Promise.all([server.close(), runner.stop(), workers?.stop(0).catch(() => undefined)]);
  clock?.stop();
  contentPlace?.stop();
  await database.close();
}

async function stop(
  { server, runner, database, clock, contentPlace }: ServiceParts,
  graceSeconds: number,
): Promise<void> {
  server.log.info("stopping");
  // A keep-alive connection becomes idle only after its request; nothing else closes it then.
  const sweep = setInterval(() => server.server.closeIdleConnections(), sweepMs);
  let grace: NodeJS.Timeout | undefined;
  const timedOut = new Promise<void>((resolve) => {
    grace = setTimeout(() => {
      server.log.warn({ graceSeconds }, "grace period exceeded: closing connections");
      server.server.closeAllConnections();
      resolve();
    }, graceSeconds * 1000);
  });
  // Concurrently, so that other servers take over the jobs while requests finish.
  const closed = Promise.all([server.close(), runner.stop()]).then(() => {
    clock?.stop();
    contentPlace?.stop();
    return database.close();
  });
  await Promise.race([closed, timedOut]);
  clearInterval(sweep);
  clearTimeout(grace);
  server.log.info("stopped");
}

function readTls({ tlsCert, tlsKey }: Settings): TlsPair | undefined {
  return tlsCert === undefined || tlsKey === undefined ? undefined : readPair({ tlsCert, tlsKey });
}

function reload(watch: TlsWatch | undefined, logger: Pick<Logger, "info">): void {
  if (watch === undefined) logger.info("TLS reload skipped: TLS is not configured");
  else watch.reload();
}

function watchTls(server: FastifyInstance, { tlsCert, tlsKey }: Settings, pair?: TlsPair): TlsWatch | undefined {
  if (tlsCert === undefined || tlsKey === undefined || pair === undefined) return undefined;
  return new TlsWatch({ tlsCert, tlsKey }, pair, {
    server: server.server as unknown as SecureServer,
    logger: server.log,
  });
}

async function listen(server: FastifyInstance, { listen: { host, port } }: Settings): Promise<void> {
  try {
    await server.listen({ host, port, listenTextResolver: (address) => `listening on ${address}` });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new SettingError(
        `The address ${host}:${port} is in use by another program. Stop that program, or set another address with CADASTRE_LISTEN.`,
      );
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EACCES")
      throw new SettingError(
        `The address ${host}:${port} can't be used on this machine (${message}). Set another one with CADASTRE_LISTEN.`,
      );
    throw error;
  }
}
