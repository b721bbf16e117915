/** `cadastre health`: whether the server on this machine is ready, for whatever has only an exit code to look at. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { loopbackOf } from "../kernel/settings.ts";
import type { Settings } from "../settings.ts";
import { type Command, UsageError } from "./command.ts";

const timeoutMs = 5_000;
const askAgainMs = 200;
const waitMaxSeconds = 86_400;

export const healthCommand: Command = {
  name: "health",
  summary: "Ask the server on this machine whether it is ready",
  settings: ["listen", "tlsCert"],
  options: { wait: { shape: "SECONDS", doc: "Ask again until it is ready, for so long at most." } },
  details: [
    "Asks /readyz at the address that the server was told to listen on, so give it the same settings. Exit code 0: ready; 1: not. It is for containers and scripts that have no curl.",
    "Example: cadastre health --listen 127.0.0.1:8080 --wait 60",
  ],
  async run({ terminal, settings, value }) {
    const seconds = secondsOf(value("wait"));
    const { listen, tlsCert } = settings();
    const address = { ...listen, host: loopbackOf(listen.host) };
    await untilReady(async () => {
      const status = await readiness(address, tlsCert !== undefined);
      if (status !== 200) throw new Error(`it answered with ${status}`);
    }, seconds);
    terminal.out("ready");
  },
};

/** Asks again and again for so many seconds. Raises `unavailable` with what it was told last. */
async function untilReady(ask: () => Promise<void>, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (performance.now() >= end) throw notReady((error as Error).message, seconds);
    }
    await sleep(askAgainMs);
  }
}

function secondsOf(text: string | undefined): number {
  const seconds = text === undefined ? 0 : text === "" ? Number.NaN : Number(text);
  if (!(seconds >= 0 && seconds <= waitMaxSeconds))
    throw new UsageError(`--wait takes a number of seconds, from 0 to ${waitMaxSeconds}.`);
  return seconds;
}

function readiness({ host, port }: Settings["listen"], isTls: boolean): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const ask = isTls ? httpsRequest : httpRequest;
  // Its certificate is for the name by which others call it.
  const options = { host, port, path: "/readyz", timeout: timeoutMs, rejectUnauthorized: false };
  const request = ask(options, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  request.on("timeout", () => request.destroy(new Error(`it said nothing for ${counted(timeoutMs / 1000, "second")}`)));
  request.on("error", reject);
  request.end();
  return promise;
}

const notReady = (why: string, seconds: number) =>
  new AppError(
    "unavailable",
    `The server is not ready${seconds > 0 ? ` after ${counted(seconds, "second")}` : ""} (${why}). Its log tells more.`,
  );
