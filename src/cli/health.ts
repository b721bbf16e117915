/** `cadastre health`: whether the server on this machine is ready, for whatever has only an exit code to look at. */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { AppError } from "../kernel/errors.ts";
import type { Settings } from "../settings.ts";
import type { Command } from "./command.ts";

const timeoutMs = 5_000;

export const healthCommand: Command = {
  name: "health",
  summary: "Ask the server on this machine whether it is ready",
  settings: ["listen", "tlsCert"],
  details: [
    "Asks /readyz at the address that the server was told to listen on, so give it the same settings. Exit code 0: ready; 1: not. It is for containers and scripts that have no curl.",
    "Example: cadastre health --listen 127.0.0.1:8080",
  ],
  async run({ terminal, settings }) {
    const { listen, tlsCert } = settings();
    const status = await readiness(addressOf(listen), tlsCert !== undefined);
    if (status !== 200) throw notReady(`it answered with ${status}`);
    terminal.out("ready");
  },
};

/** A server that listens on every address is reached by the loopback one. */
function addressOf({ host, port }: Settings["listen"]): Settings["listen"] {
  return { host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port };
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
  request.on("timeout", () => request.destroy(new Error(`it said nothing for ${timeoutMs / 1000} seconds`)));
  request.on("error", (error) => reject(notReady(error.message)));
  request.end();
  return promise;
}

const notReady = (why: string) => new AppError("unavailable", `The server is not ready (${why}). Its log tells more.`);
