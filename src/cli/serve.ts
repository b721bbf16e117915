/** `cadastre serve`: starts the service, and stops it when the process is told to. */
import { setTimeout as sleep } from "node:timers/promises";
import { deprecatedSettings } from "../kernel/settings.ts";
import { serve } from "../main.ts";
import { type Settings, settingTable } from "../settings.ts";
import { checkService } from "./check.ts";
import type { Command, Ended, Terminal } from "./command.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve the register over HTTP",
  settings: Object.keys(settingTable) as (keyof Settings)[],
  options: {
    check: {
      doc: "Start nothing: check the settings, the database, the key, the certificate, the mail server, the sandbox and the folder for backups, and exit with 0, or with 1 and a line for each fault.",
    },
  },
  details: [
    "Brings the database to this version's schema, makes the first admin where there are no users, and serves until it is stopped.",
    "SIGTERM and SIGINT (Ctrl+C) stop it: /readyz says 503 while it drains, then no new requests are taken and running ones are finished. A second signal ends it at once.",
    "SIGHUP, where the output is no terminal, has the TLS files read again; so does a change of them.",
    "A flag can be seen by everybody on the machine: give secrets by the environment or the settings file.",
    "Example: cadastre serve --listen 0.0.0.0:8080 --database sqlite:/var/lib/cadastre/cadastre.db",
  ],
  async run({ terminal, settings, sources, isOn }) {
    if (isOn("check")) return check(terminal, settings);
    const given = settings();
    // Before anything is started: from then on there is something to be ended properly.
    const { told, forget } = listening();
    const { out, isTerminal } = terminal;
    const deprecated = deprecatedSettings(settingTable, sources);
    const starting = serve(given, { say: out, isTerminal, deprecated });
    const reload = () => void starting.then((service) => service.reload()).catch(() => {});
    // On a terminal it means that the terminal is gone.
    if (!isTerminal) process.on("SIGHUP", reload);
    try {
      // Whoever is told during the start is stopped as soon as there is something to stop, if that takes not too long.
      const service = await Promise.race([starting, told.then(() => sleep(given.graceSeconds * 1000))]);
      await told;
      if (isTerminal)
        out("\n  Stopping: running requests are finished first. Ctrl+C once more does not wait for them.");
      await service?.stop();
    } catch (error) {
      process.off("SIGHUP", reload);
      forget();
      throw error;
    }
    // What the grace period cut off may still hold the process.
    process.exit(0);
  },
};

async function check(terminal: Terminal, settings: () => Settings): Promise<Ended> {
  const { passed, faults } = await checkService(settings);
  for (const line of passed) terminal.out(line);
  for (const fault of faults) terminal.note(fault);
  return { exitCode: faults.length === 0 ? 0 : 1 };
}

/** One Ctrl+C can arrive twice: from the terminal, and passed on by npm, which the terminal has told too. */
const sameKeyPressMs = 100;

/** `told` is resolved by the first signal; a second one ends the process. */
function listening(): { readonly told: Promise<void>; readonly forget: () => void } {
  const { promise: told, resolve } = Promise.withResolvers<void>();
  let toldAt: number | undefined;
  const listen = () => {
    if (toldAt === undefined) {
      toldAt = performance.now();
      resolve();
    } else if (performance.now() - toldAt > sameKeyPressMs) process.exit(1);
  };
  process.on("SIGTERM", listen).on("SIGINT", listen);
  return { told, forget: () => void process.off("SIGTERM", listen).off("SIGINT", listen) };
}
