/** One HTTP exchange over kept-alive `node:http` connections: `fetch` costs several times as much. Nothing is changed or retried. */
import { Agent, type IncomingHttpHeaders, request } from "node:http";

export interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

export interface ReceivedHeaders {
  get(name: string): string | null;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export function exchange(
  url: string,
  { method, headers, body }: Exchange,
): Promise<{ status: number; headers: ReceivedHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request(new URL(url), { agent, method, headers: { ...length, ...headers } }, (response) => {
      // A response before the end of the body is valid, even if the connection then breaks.
      sent.off("error", reject).on("error", () => {});
      let text = "";
      response.setEncoding("utf8");
      const settle = () => resolve({ status: response.statusCode ?? 0, headers: read(response.headers), text });
      const isStream = response.headers["content-type"] === "text/event-stream";
      response.on("data", (piece: string) => {
        text += piece;
        // A stream may never end: its first event is enough here (`event-stream.ts` reads further).
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

const read = (headers: IncomingHttpHeaders): ReceivedHeaders => ({
  get: (name) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? null : String(value);
  },
});
