/** A client of server-sent events that can read slowly. */
import { type IncomingMessage, request } from "node:http";
import { until } from "./waiting.ts";
import type { Api, Json } from "./api.ts";

export interface ReceivedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: Json;
}

export interface EventStream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly refusal: Json;
  readonly events: readonly ReceivedEvent[];
  readonly heartbeats: () => number;
  readonly isClosed: () => boolean;
  until(holds: (event: ReceivedEvent) => boolean, what?: string): Promise<ReceivedEvent>;
  text(phase?: "plan" | "apply"): string;
  closed(): Promise<void>;
  pause(): void;
  resume(): void;
  close(): void;
}

interface StreamOptions {
  readonly token: string | undefined;
  readonly lastEventId?: string;
  readonly query?: string;
  /** Nothing is read until `resume`. */
  readonly isPaused?: boolean;
}

export async function openStream(
  { url }: Pick<Api, "url">,
  runId: string,
  { token, lastEventId, query = "", isPaused = false }: StreamOptions,
): Promise<EventStream> {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
  };
  const sent = request(`${url}/api/v2/runs/${runId}/events${query}`, { headers, agent: false });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    sent.once("response", resolve).once("error", reject).end();
  });
  sent.on("error", () => {});
  const events: ReceivedEvent[] = [];
  let [rest, heartbeats, isClosed] = ["", 0, false];
  const take = (piece: string) => {
    const frames = (rest + piece).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      if (frame.startsWith(":")) heartbeats += 1;
      else events.push(parse(frame));
    }
  };
  const read = () => response.setEncoding("utf8").on("data", take);
  response.once("close", () => (isClosed = true)).on("error", () => {});
  const isRefused = response.statusCode !== 200;
  let refusal: Json;
  if (isRefused) refusal = JSON.parse(await textOf(response));
  else if (!isPaused) read();
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    refusal,
    events,
    heartbeats: () => heartbeats,
    isClosed: () => isClosed,
    until: (holds, what = String(holds)) => until(() => events.find(holds), what),
    text: (phase = "plan") =>
      events.flatMap(({ event, data }) => (event === "log" && data.phase === phase ? [data.text] : [])).join(""),
    closed: async () => void (await until(() => isClosed, "the stream is closed")),
    pause: () => void response.pause(),
    resume: () => void (response.listenerCount("data") === 0 ? read() : response.resume()),
    close: () => void response.destroy(),
  };
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of response.setEncoding("utf8")) text += piece;
  return text;
}

function parse(frame: string): ReceivedEvent {
  const fields = Object.fromEntries(
    frame.split("\n").map((line) => {
      const at = line.indexOf(": ");
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  return { id: fields["id"] ?? "", event: fields["event"] ?? "", data: JSON.parse(fields["data"] ?? "null") };
}
