/**
 * One HTTP exchange, by `node:http` on connections that are kept: `fetch` costs several times as much, and a run makes tens of
 * thousands. What a test sends is what goes out; nothing is retried.
 */
import { Agent, type IncomingHttpHeaders, request } from "node:http";

export interface Exchange {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
}

/** The headers of an answer. */
export interface Received {
  get(name: string): string | null;
}

const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });

export function exchange(
  url: string,
  { method, headers, body }: Exchange,
): Promise<{ status: number; headers: Received; text: string }> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const sent = request(new URL(url), { agent, method, headers: { ...length, ...headers } }, (response) => {
      // An answer that comes before the whole body was sent stands, whatever then becomes of the connection.
      sent.off("error", reject).on("error", () => {});
      let text = "";
      response.setEncoding("utf8");
      const settle = () => resolve({ status: response.statusCode ?? 0, headers: read(response.headers), text });
      const isStream = response.headers["content-type"] === "text/event-stream";
      response.on("data", (piece: string) => {
        text += piece;
        // A stream need not end: its first event says enough here (`event-stream.ts` reads on).
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

const read = (headers: IncomingHttpHeaders): Received => ({
  get: (name) => {
    const value = headers[name.toLowerCase()];
    return value === undefined ? null : String(value);
  },
});
