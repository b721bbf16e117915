/** Sends one request to the fuzzed server and checks the response. */
import { Agent, type IncomingMessage, request as ask } from "node:http";
import type { Request } from "./requests.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

/** Longer than any request may take, including long polling. */
const deadlineMs = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** Rejects if there is no response: the connection is closed, or it takes too long. */
export function send(url: string, request: Request, senderHeaders: Readonly<Record<string, string>>): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { method, target: path, body } = request;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const headers = { ...length, ...request.headers, ...senderHeaders };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(deadlineMs);
    const sent = ask({ agent, hostname, port, method, path, headers, signal }, (response) => {
      // A response before the end of the body is valid, even if the connection then breaks.
      sent.off("error", reject).on("error", () => {});
      let text = "";
      response.setEncoding("utf8");
      const settle = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      const isStream = response.headers["content-type"] === "text/event-stream";
      response.on("data", (piece: string) => {
        text += piece;
        // A stream may never end: its first event is enough.
        if (!isStream || !text.includes("\n\n")) return;
        settle();
        response.destroy();
      });
      response.once("error", reject);
      response.once("end", settle);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

export const closeConnections = (): void => agent.destroy();

/** Internal details that a response must not contain. */
const internals = /\bat \S+ \(?(?:file:|\/)\S+:\d+|node_modules|SQLITE_|syntax error at or near|ECONNREFUSED/;
/** Statuses that any request can get, and that the document does not list per operation. */
const statusesOfAny = new Set([304, 406, 431]);

/** What is wrong with a response, as the end of "The response …". */
export function faultsOf({ operation }: Request, { status, headers, text }: Answer): string[] {
  const faults: string[] = [];
  if (status >= 500 && !isPending(status, text)) faults.push("is a server error");
  if (!operation.statuses.has(status) && !statusesOfAny.has(status)) faults.push("has an undocumented status");
  if (headers["x-request-id"] === undefined) faults.push("has no x-request-id");
  if (internals.test(text)) faults.push("contains internal details");
  if (status >= 400 && isApi(operation.path)) faults.push(...errorFaults(status, text));
  return faults;
}

const isApi = (path: string) => path.startsWith("/api/");

/** Documented for a state whose content has not arrived; and the fuzzed server has no network access. */
const isPending = (status: number, text: string) =>
  status === 503 && /still pending|can't be reached.* Try again shortly/.test(text);

function errorFaults(status: number, text: string): string[] {
  const errors = errorsIn(text);
  if (errors === undefined || errors.length === 0) return ["is not an error document"];
  return errors.flatMap((error) => {
    const isComplete =
      typeof error["title"] === "string" && typeof error["detail"] === "string" && error["detail"] !== "";
    return isComplete && error["status"] === String(status) ? [] : ["has an error without title or detail"];
  });
}

function errorsIn(text: string): Record<string, unknown>[] | undefined {
  try {
    const { errors } = JSON.parse(text) as { errors?: Record<string, unknown>[] };
    return Array.isArray(errors) ? errors : undefined;
  } catch {
    return undefined;
  }
}
