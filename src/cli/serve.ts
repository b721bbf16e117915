/** `cadastre serve`: starts the service, and stops it when the process is told to. */
import { serve } from "../main.ts";
import { type Settings, settingTable } from "../settings.ts";
import type { Command } from "./command.ts";

export const serveCommand: Command = {
  name: "serve",
  summary: "Serve the register over HTTP",
  settings: Object.keys(settingTable) as (keyof Settings)[],
  details: [
    "Brings the database to this version's schema, makes the first admin where there are no users, and serves until it is stopped.",
    "SIGTERM and SIGINT (Ctrl+C) stop it: no new requests are taken, running ones are finished. A second signal ends it at once.",
    "A flag can be seen by everybody on the machine: give secrets by the environment or the settings file.",
    "Example: cadastre serve --listen 0.0.0.0:8080 --database sqlite:/var/lib/cadastre/cadastre.db",
  ],
  async run({ terminal, settings }) {
    const service = await serve(settings(), terminal.out);
    await untilTold();
    await service.stop();
    // What the grace period cut off may still hold the process.
    process.exit(0);
  },
};

/** One Ctrl+C can arrive twice: from the terminal, and passed on by npm, which the terminal has told too. */
const sameKeyPressMs = 100;

/** The first signal ends the wait; a second one ends the process. */
function untilTold(): Promise<void> {
  return new Promise((resolve) => {
    let toldAt: number | undefined;
    const listen = () => {
      if (toldAt === undefined) {
        toldAt = performance.now();
        resolve();
      } else if (performance.now() - toldAt > sameKeyPressMs) process.exit(1);
    };
    process.on("SIGTERM", listen).on("SIGINT", listen);
  });
}
