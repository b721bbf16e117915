/** `cadastre serve`: starts the server, and stops it on SIGTERM or SIGINT. */
import { setTimeout as sleep } from "node:timers/promises";
import { deprecatedSettings } from "../kernel/settings.ts";
import { serve } from "../main.ts";
import { type Settings, settingTable } from "../settings.ts";
import { checkService } from "./check.ts";
import type { Command, CommandResult, Terminal } from "./command.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Start the server",
  settings: Object.keys(settingTable) as (keyof Settings)[],
  options: {
    check: {
      doc: "Check the settings, database, encryption key, certificate, mail server, sandbox and backup directory without starting the server. Exits with 0, or with 1 and one line per problem.",
    },
  },
  details: [
    "Migrates the database to the schema of this version, creates the first admin if there are no users, and serves until it is stopped.",
    "SIGTERM and SIGINT (Ctrl+C) stop the server: /readyz answers 503 while it drains, then it accepts no new requests and finishes the running ones. A second signal stops it immediately.",
    "SIGHUP reloads the TLS files unless the output is a terminal. The server also reloads them when they change.",
    "Other users of this machine can see flags: pass secrets in the environment or in the settings file.",
    "Example: cadastre serve --listen 0.0.0.0:8080 --database sqlite:/var/lib/cadastre/cadastre.db",
  ],
  async run({ terminal, settings, sources, isOn }) {
    if (isOn("check")) return check(terminal, settings);
    const given = settings();
    // From here on a signal must stop the server properly.
    const { stopRequested, removeListeners } = watchStopSignals();
    const { out, isTerminal } = terminal;
    const deprecated = deprecatedSettings(settingTable, sources);
    const starting = serve(given, { say: out, isTerminal, deprecated });
    const reload = () => void starting.then((service) => service.reload()).catch(() => {});
    // On a terminal, SIGHUP means that it was closed.
    if (!isTerminal) process.on("SIGHUP", reload);
    try {
      // A signal during the start waits for it, but not longer than the grace period.
      const service = await Promise.race([starting, stopRequested.then(() => sleep(given.graceSeconds * 1000))]);
      await stopRequested;
      if (isTerminal) out("\n  Stopping: waiting for running requests. Press Ctrl+C again to stop immediately.");
      await service?.stop();
    } catch (error) {
      process.off("SIGHUP", reload);
      removeListeners();
      throw error;
    }
    // Requests that the grace period cut off can keep the process alive.
    process.exit(0);
  },
};

async function check(terminal: Terminal, settings: () => Settings): Promise<CommandResult> {
  const { passed, faults } = await checkService(settings);
  for (const line of passed) terminal.out(line);
  for (const fault of faults) terminal.note(fault);
  return { exitCode: faults.length === 0 ? 0 : 1 };
}

/** One Ctrl+C can arrive twice: from the terminal, and forwarded by npm. */
const sameKeyPressMs = 100;

/** A second signal ends the process. */
function watchStopSignals(): { readonly stopRequested: Promise<void>; readonly removeListeners: () => void } {
  const { promise: stopRequested, resolve } = Promise.withResolvers<void>();
  let requestedAt: number | undefined;
  const listen = () => {
    if (requestedAt === undefined) {
      requestedAt = performance.now();
      resolve();
    } else if (performance.now() - requestedAt > sameKeyPressMs) process.exit(1);
  };
  process.on("SIGTERM", listen).on("SIGINT", listen);
  return { stopRequested, removeListeners: () => void process.off("SIGTERM", listen).off("SIGINT", listen) };
}
