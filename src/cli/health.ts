/** `cadastre health`: reports by exit code whether the server on this machine is ready. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "../kernel/errors.ts";
import { counted } from "../kernel/text.ts";
import { loopbackOf } from "../kernel/settings.ts";
import type { Settings } from "../settings.ts";
import { type Command, UsageError } from "./command.ts";

const timeoutMs = 5_000;
const retryMs = 200;
const waitMaxSeconds = 86_400;

export const healthCommand: Command = {
  name: "health",
  summary: "Check whether the server on this machine is ready",
  settings: ["listen", "tlsCert"],
  options: { wait: { shape: "SECONDS", doc: "Wait up to this long for the server to become ready." } },
  details: [
    "Requests /readyz at the server's listen address, so use the same settings as the server. Exit codes: 0 if the server is ready, 1 if not. Use it in containers and scripts that have no curl.",
    "Example: cadastre health --listen 127.0.0.1:8080 --wait 60",
  ],
  async run({ terminal, settings, value }) {
    const seconds = secondsOf(value("wait"));
    const { listen, tlsCert } = settings();
    const address = { ...listen, host: loopbackOf(listen.host) };
    await untilReady(async () => {
      const status = await readiness(address, tlsCert !== undefined);
      if (status !== 200) throw new Error(`status ${status}`);
    }, seconds);
    terminal.out("ready");
  },
};

async function untilReady(attempt: () => Promise<void>, seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() >= end) throw notReady((error as Error).message, seconds);
    }
    await sleep(retryMs);
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
  const send = isTls ? httpsRequest : httpRequest;
  // The certificate is for the server's public name, not for this address.
  const options = { host, port, path: "/readyz", timeout: timeoutMs, rejectUnauthorized: false };
  const request = send(options, (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  request.on("timeout", () => request.destroy(new Error(`no response for ${counted(timeoutMs / 1000, "second")}`)));
  request.on("error", reject);
  request.end();
  return promise;
}

const notReady = (reason: string, seconds: number) =>
  new AppError(
    "unavailable",
    `The server is not ready${seconds > 0 ? ` after ${counted(seconds, "second")}` : ""} (${reason}). See the server's log.`,
  );
