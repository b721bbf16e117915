/** The composition root: settings → database → server and jobs. Nothing else wires things. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createSecureContext } from "node:tls";
import type { FastifyInstance } from "fastify";
import { ConsoleFiles } from "./console.ts";
import type { Database } from "./database/database.ts";
import { firstCommand } from "./http/front-page.ts";
import { batchedDestination } from "./http/log-destination.ts";
import { newLogger } from "./http/log.ts";
import { createServer, urlOf } from "./http/server.ts";
import { jobs } from "./jobs/index.ts";
import { JobRunner } from "./jobs/runner.ts";
import type { ServiceOptions } from "./resources/shared/context.ts";
import { describeFetching } from "./resources/vcs/fetching/workshop.ts";
import { ensureFirstAdmin, type FirstAdmin, openRegister, sqlitePath } from "./service.ts";
import { SettingError } from "./kernel/settings.ts";
import { type Settings } from "./settings.ts";
import { version } from "./version.ts";
import { refuseWithoutEngine, Workers } from "./workers.ts";

export interface RunningService {
  /** Where it listens, as a URL. */
  readonly url: string;
  /** Takes no more requests, and finishes the running ones within the grace period. */
  stop(): Promise<void>;
}

/** Starts the service and says so. Raises SettingError or AppError with a sentence for the person who starts it. */
export async function serve(settings: Settings, say: (line: string) => void = console.log): Promise<RunningService> {
  const tls = readTls(settings);
  await refuseWithoutEngine(settings);
  const { database, vault } = await openRegister(settings);
  const logger = newLogger(settings.logLevel, batchedDestination());
  const consoleFiles = settings.console === "on" ? new ConsoleFiles(logger) : undefined;
  let isStarting = true;
  const server = createServer({
    isStarting: () => isStarting,
    database,
    vault,
    options: { ...settings, mail: mailOf(settings) },
    wake: (name) => runner.wake(name),
    version,
    logger,
    rateLimit: settings.rateLimit,
    keptBytes: settings.keptMegabytes * 2 ** 20,
    trustedProxies: settings.trustedProxies.length > 0 ? settings.trustedProxies : undefined,
    metricsToken: settings.metricsToken,
    tls,
    console: consoleFiles,
  });
  const urlNow = () => urlOf(server, { tls });
  const runner = new JobRunner({ database, vault, options: optionsOf(settings, urlNow), jobs, logger });
  try {
    await listen(server, settings);
    const admin = await ensureFirstAdmin(database, settings);
    isStarting = false;
    const url = urlNow();
    announce(settings, url, admin, say);
    runner.start();
    void describeFetching(settings.sandbox).then((line) => logger.info(line));
    void consoleFiles?.load();
    const workers =
      settings.workers > 0
        ? await Workers.start({ database, settings, url: urlForWorkers(settings, url), logger })
        : undefined;
    return {
      url,
      stop: async () => {
        consoleFiles?.stop();
        // They report to this server how what they execute ends.
        await workers?.stop(settings.graceSeconds);
        await stop({ server, runner, database }, settings.graceSeconds);
      },
    };
  } catch (error) {
    await Promise.all([server.close(), runner.stop()]);
    await database.close();
    throw error;
  }
}

/** For the jobs; the listening address is only known once the server listens. */
function optionsOf(settings: Settings, listeningUrl: () => string): ServiceOptions {
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
    get publicUrl() {
      return settings.publicUrl ?? listeningUrl();
    },
  };
}

const mailOf = ({ smtpUrl: url, smtpFrom: from }: Settings): ServiceOptions["mail"] =>
  url === undefined || from === undefined ? undefined : { url, from };

/** A certificate is for the public name; otherwise the shortest way is the loopback. */
function urlForWorkers({ tlsCert, publicUrl }: Settings, url: string): string {
  if (tlsCert !== undefined && publicUrl !== undefined) return publicUrl;
  return url.replace(/\/\/(0\.0\.0\.0|\[::\])/, "//127.0.0.1");
}

const sweepMs = 50;

interface Parts {
  readonly server: FastifyInstance;
  readonly runner: JobRunner;
  readonly database: Database;
}

async function stop({ server, runner, database }: Parts, graceSeconds: number): Promise<void> {
  server.log.info("stopping: running requests are finished first");
  // A connection that is kept alive falls idle only when its running request is answered; nobody else closes it then.
  const sweep = setInterval(() => server.server.closeIdleConnections(), sweepMs);
  let grace: NodeJS.Timeout | undefined;
  const cut = new Promise<void>((resolve) => {
    grace = setTimeout(() => {
      server.log.warn(`stopping with requests unfinished after ${graceSeconds} seconds`);
      server.server.closeAllConnections();
      resolve();
    }, graceSeconds * 1000);
  });
  // Together: while requests are finished here, other servers go on with the jobs already.
  const closed = Promise.all([server.close(), runner.stop()]).then(() => database.close());
  await Promise.race([closed, cut]);
  clearInterval(sweep);
  clearTimeout(grace);
  server.log.info("stopped");
}

function readTls({ tlsCert, tlsKey }: Settings): { cert: Buffer; key: Buffer } | undefined {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  try {
    const files = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) };
    // Fails here, with a sentence, for files that are not PEM, and for some that don't belong together.
    createSecureContext(files);
    refuseStrangers(files);
    return files;
  } catch (error) {
    throw new SettingError(
      `The TLS files can't be used (${(error as Error).message}). Check CADASTRE_TLS_CERT and CADASTRE_TLS_KEY.`,
    );
  }
}

/** A context is made of a certificate and a key of different kinds as well; only every handshake with it fails. */
function refuseStrangers({ cert, key }: { cert: Buffer; key: Buffer }): void {
  if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
    throw new Error("the key is not that of the first certificate in the file");
}

async function listen(server: FastifyInstance, { listen: { host, port } }: Settings): Promise<void> {
  try {
    await server.listen({ host, port, listenTextResolver: (address) => `listening on ${address}` });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "EADDRINUSE")
      throw new SettingError(
        `The address ${host}:${port} is taken by another program. Stop that, or choose another address with CADASTRE_LISTEN.`,
      );
    if (code === "EADDRNOTAVAIL" || code === "ENOTFOUND" || code === "EACCES")
      throw new SettingError(
        `The address ${host}:${port} can't be used here (${message}). Choose another with CADASTRE_LISTEN.`,
      );
    throw error;
  }
}

function announce(settings: Settings, url: string, admin: FirstAdmin | undefined, say: (line: string) => void): void {
  const address = settings.publicUrl ?? url;
  const data = sqlitePath(settings) ?? "PostgreSQL";
  const lines = ["", `  Cadastre ${version}`, "", `  Address   ${address}`, `  Data      ${data}`];
  // Whoever serves with a certificate of their own making has to be told how to trust it, here as everywhere.
  const command = firstCommand(
    address,
    settings.tlsCert === undefined ? "" : `--cacert ${shellWord(resolve(settings.tlsCert))} `,
  );
  if (admin !== undefined)
    lines.push(
      `  Sign in   as ${admin.username}, ${settings.adminPassword === undefined ? `with the password ${admin.password} (shown this once)` : "with the password in CADASTRE_ADMIN_PASSWORD"}`,
    );
  if (admin !== undefined && settings.adminToken === undefined) {
    lines.push("", "  The admin's token is shown this once. In a second terminal, paste:", "");
    lines.push(`    export TOKEN=${admin.token}`, `    ${command}`);
  } else if (admin !== undefined) {
    lines.push("", "  The admin's token is the one in CADASTRE_ADMIN_TOKEN. With it in TOKEN:", "", `    ${command}`);
  } else {
    lines.push("", "  With a token in TOKEN:", "", `    ${command}`);
  }
  lines.push("", "  Stop it with Ctrl+C.", "");
  say(lines.join("\n"));
}

/** As one word of a shell, whatever is in it. */
const shellWord = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
