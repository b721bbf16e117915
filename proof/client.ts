/** Sends one request and classifies the response. It must not retry: that would hide responses from the checker. */
import { Agent, request } from "node:http";
import type { Outcome } from "./history.ts";

export interface Target {
  readonly name: string;
  readonly url: string;
}

export type Json = any;

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export const mediaType = "application/vnd.api+json";
/** Longer than any request takes under any of the faults. */
const timeoutMs = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

/** Rejects if there is no response. */
export function exchange(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: string | Uint8Array,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request(url, { agent, method, headers: { ...length, ...headers }, timeout: timeoutMs }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => (text += piece));
      response.once("error", reject);
      response.once("end", () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.once("timeout", () => sent.destroy(new Error(`no answer within ${timeoutMs / 1000} seconds`)));
    sent.once("error", reject);
    sent.end(body);
  });
}

export function send(
  target: Target,
  token: string,
  method: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return exchange(
    `${target.url}/api/v2${path}`,
    method,
    { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": mediaType }), ...headers },
    body === undefined ? undefined : JSON.stringify(body),
  );
}

export interface Expected {
  readonly done: number;
  readonly declined?: readonly number[];
}

export interface Judged {
  readonly outcome: Outcome;
  readonly note?: string;
}

export function judge(reply: Reply, { done, declined = [] }: Expected): Judged {
  if (reply.status === done) return { outcome: "done" };
  if (declined.includes(reply.status)) return { outcome: "declined" };
  if (reply.status !== 503) return { outcome: "wrong", note: `${reply.status} ${reply.text.slice(0, 300)}` };
  const detail = detailOf(reply.text);
  const isComplete =
    detail !== undefined && Number(reply.headers["retry-after"]) > 0 && reply.headers["content-type"] === mediaType;
  if (!isComplete)
    return { outcome: "wrong", note: `a 503 without a detail or Retry-After: ${reply.text.slice(0, 300)}` };
  return { outcome: /unknown/.test(detail) ? "unknown" : "refused", note: detail };
}

/** Classifies a missing response, which is only allowed while the server may be down. */
export function judgeSilence(error: unknown, mayBeDown: boolean): Judged {
  const { code, message } = error as { code?: string; message: string };
  const note = code ?? message;
  if (!mayBeDown) return { outcome: "wrong", note: `no answer: ${note}` };
  return { outcome: code === "ECONNREFUSED" ? "refused" : "unknown", note };
}

function detailOf(text: string): string | undefined {
  try {
    const [error] = (JSON.parse(text) as { errors: { status: string; detail: string }[] }).errors;
    return error?.status === "503" ? error.detail : undefined;
  } catch {
    return undefined;
  }
}
