/** The composition root: settings → database → server and jobs. Nothing else wires things. */
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { FastifyInstance } from "fastify";
import pino from "pino";
import type { Database } from "./database/database.ts";
import { createServer, urlOf } from "./http/server.ts";
import { jobs } from "./jobs/index.ts";
import { JobRunner } from "./jobs/runner.ts";
import type { ServiceOptions } from "./resources/shared/context.ts";
import { ensureFirstAdmin, openRegister, sqlitePath } from "./service.ts";
import { SettingError, type Settings } from "./settings.ts";
import { version } from "./version.ts";

export interface RunningService {
  /** Where it listens, as a URL. */
  readonly url: string;
  /** Takes no more requests, and finishes the running ones within the grace period. */
  stop(): Promise<void>;
}

/** Starts the service and says so. Raises SettingError or AppError with a sentence for the person who starts it. */
export async function serve(settings: Settings, say: (line: string) => void = console.log): Promise<RunningService> {
  const tls = readTls(settings);
  const { database, vault } = await openRegister(settings);
  const logger = pino({ level: settings.logLevel, redact: ["req.headers.authorization"] });
  const server = createServer({
    database,
    vault,
    options: settings,
    wake: (name) => runner.wake(name),
    version,
    logger,
    rateLimit: settings.rateLimit,
    trustedProxies: settings.trustedProxies.length > 0 ? settings.trustedProxies : undefined,
    metricsToken: settings.metricsToken,
    tls,
  });
  const urlNow = () => urlOf(server, { tls });
  const runner = new JobRunner({ database, vault, options: optionsOf(settings, urlNow), jobs, logger });
  try {
    await listen(server, settings);
    const adminToken = await ensureFirstAdmin(database, settings);
    const url = urlNow();
    announce(settings, url, adminToken, say);
    runner.start();
    return {
      url,
      stop: () => stop({ server, runner, database }, settings.graceSeconds),
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
  return {
    organizationCreation,
    edition,
    globalRemoteStateDefault,
    get publicUrl() {
      return settings.publicUrl ?? listeningUrl();
    },
  };
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
    // Fails here, with a sentence, for files that are not PEM or don't belong together.
    createSecureContext(files);
    return files;
  } catch (error) {
    throw new SettingError(
      `The TLS files can't be used (${(error as Error).message}). Check CADASTRE_TLS_CERT and CADASTRE_TLS_KEY.`,
    );
  }
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

function announce(settings: Settings, url: string, adminToken: string | undefined, say: (line: string) => void): void {
  const data = sqlitePath(settings) ?? "PostgreSQL";
  const lines = ["", `  Cadastre ${version}`, "", `  Address   ${settings.publicUrl ?? url}`, `  Data      ${data}`];
  if (adminToken !== undefined && settings.adminToken === undefined) {
    lines.push("", `  Admin's token (shown this once):`, "", `    ${adminToken}`);
  } else if (adminToken !== undefined) {
    lines.push("", "  The admin's token is the one in CADASTRE_ADMIN_TOKEN.");
  }
  lines.push("", "  Stop it with Ctrl+C.", "");
  say(lines.join("\n"));
}
