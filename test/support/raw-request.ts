/** Sends raw bytes to the service, for requests that no client would send. */
import { connect } from "node:net";
import { text as textOf } from "node:stream/consumers";

export interface RawAnswer {
  readonly head: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export async function sendRaw(url: string, sent: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  socket.write(sent, "latin1");
  const received = await textOf(socket);
  const [top = "", body = ""] = received.split(/\r\n\r\n(.*)/s);
  const [head = "", ...lines] = top.split("\r\n");
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  return { head, status: Number(head.split(" ")[1]), headers, body };
}
