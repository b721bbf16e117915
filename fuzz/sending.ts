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

/** Raises where no answer comes: the connection is cut, or it takes too long. */
export function send(url: string, request: Request, senderHeaders: Readonly<Record<string, string>>): Promise<Answer> {
  const { hostname, port } = new URL(url);
  const { method, target: path, body } = request;
  const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
  const headers = { ...length, ...request.headers, ...senderHeaders };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(deadlineMs);
    const sent = ask({ agent, hostname, port, method, path, headers, signal }, (response) => {
      // What comes before the whole body was sent stands, whatever then becomes of the connection.
      sent.off("error", reject).on("error", () => {});
      let text = "";
      response.setEncoding("utf8");
      const settle = () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      const isStream = response.headers["content-type"] === "text/event-stream";
      response.on("data", (piece: string) => {
        text += piece;
        // A stream need not end: one event of it is an answer.
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

/** What nobody outside should read. */
const inside = /\bat \S+ \(?(?:file:|\/)\S+:\d+|node_modules|SQLITE_|syntax error at or near|ECONNREFUSED/;
/** What the document does not tell for each operation, because any request may get it. */
const anywhere = new Set([304, 406, 431]);

/** What is wrong with an answer, as the end of "The answer …"; none where it is as it should be. */
export function faultsOf({ operation }: Request, { status, headers, text }: Answer): string[] {
  const faults: string[] = [];
  if (status >= 500 && !isPending(status, text)) faults.push("is an error of the server");
  if (!operation.statuses.has(status) && !anywhere.has(status))
    faults.push("has a status that the document does not know");
  if (headers["x-request-id"] === undefined) faults.push("has no x-request-id");
  if (inside.test(text)) faults.push("tells of the inside");
  if (status >= 400 && isApi(operation.path)) faults.push(...errorFaults(status, text));
  return faults;
}

const isApi = (path: string) => path.startsWith("/api/");

/** What the specification answers while a state's content has not arrived; and this server reaches nobody. */
const isPending = (status: number, text: string) =>
  status === 503 && /still pending|can't be reached.* Try again shortly/.test(text);

function errorFaults(status: number, text: string): string[] {
  const errors = errorsIn(text);
  if (errors === undefined || errors.length === 0) return ["is no document of errors"];
  return errors.flatMap((error) => {
    const isWhole = typeof error["title"] === "string" && typeof error["detail"] === "string" && error["detail"] !== "";
    return isWhole && error["status"] === String(status) ? [] : ["has an error that says nothing"];
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
