/** Sends server-sent events and tables no faster than the client reads, until the client is gone or the server stops. */
import { Readable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import type { EventsAnswer } from "../jsonapi/define.ts";
import { csvLines, type CsvTable } from "../kernel/csv.ts";
import { eventHeaders, tableHeaders } from "./respond.ts";

const watchIntervalMs = 500;
const stalledMs = 30_000;

type IsStopping = (() => boolean) | undefined;

export function sendEvents(reply: FastifyReply, { events, close }: EventsAnswer, isStopping: IsStopping): FastifyReply {
  return send(eventHeaders(reply), events, close, isStopping);
}

/** Chunked, because the length is unknown: a client that misses the last chunk detects the truncation. */
export function sendTable(reply: FastifyReply, table: CsvTable, isStopping: IsStopping): FastifyReply {
  return send(tableHeaders(reply, table.name), linesOf(table), table.close, isStopping);
}

async function* linesOf({ columns, pieces }: CsvTable): AsyncGenerator<string> {
  yield csvLines([columns]);
  for await (const rows of pieces) yield csvLines(rows);
}

function send(
  reply: FastifyReply,
  pieces: AsyncIterable<string>,
  close: () => void,
  isStopping: IsStopping,
): FastifyReply {
  // The framework would read the whole stream for a HEAD request.
  const hasBody = reply.request.method !== "HEAD";
  if (hasBody) watch(reply, close, isStopping);
  else close();
  const sent = hasBody ? yieldingBetween(pieces) : [];
  return reply.send(Readable.from(sent, { objectMode: false, highWaterMark: 16 * 1024 }));
}

/** SQLite answers synchronously: without yielding, no other request would run until the stream ends. */
async function* yieldingBetween(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const piece of pieces) {
    yield piece;
    await turn();
  }
}

function watch({ raw }: FastifyReply, close: () => void, isStopping: IsStopping): void {
  let [bytesWritten, lastProgressAt, stoppingTicks] = [0, performance.now(), 0];
  const timer = setInterval(() => {
    const now = raw.socket?.bytesWritten ?? 0;
    if (now !== bytesWritten || !raw.writableNeedDrain) [bytesWritten, lastProgressAt] = [now, performance.now()];
    // Event streams end when the server stops; a table or a slow client would delay the stop.
    stoppingTicks = isStopping?.() === true ? stoppingTicks + 1 : 0;
    if (stoppingTicks > 1 || performance.now() - lastProgressAt > stalledMs) raw.destroy();
  }, watchIntervalMs);
  const end = () => {
    clearInterval(timer);
    close();
  };
  if (raw.destroyed) end();
  else raw.once("close", end);
}
