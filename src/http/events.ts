/** Streams of server-sent events on their way out: no faster than they are read, and ended where nobody reads or the server stops. */
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { EventsAnswer } from "../jsonapi/define.ts";
import { eventHeaders } from "./respond.ts";

const watchMs = 500;
/** How long a reader may take nothing of what waits for it. */
const stalledMs = 30_000;

export function sendEvents(
  reply: FastifyReply,
  { events, close }: EventsAnswer,
  isStopping: () => boolean = () => false,
): FastifyReply {
  const { raw } = reply;
  let [written, movedAt, stoppingFor] = [0, performance.now(), 0];
  const watch = setInterval(() => {
    const now = raw.socket?.bytesWritten ?? 0;
    if (now !== written || !raw.writableNeedDrain) [written, movedAt] = [now, performance.now()];
    // A stream ends by itself when the server stops; one whose reader is slow would wait for that reader.
    stoppingFor = isStopping() ? stoppingFor + 1 : 0;
    if (stoppingFor > 1 || performance.now() - movedAt > stalledMs) raw.destroy();
  }, watchMs);
  const over = () => {
    clearInterval(watch);
    close();
  };
  if (raw.destroyed) over();
  else raw.once("close", over);
  return eventHeaders(reply).send(Readable.from(events, { objectMode: false, highWaterMark: 16 * 1024 }));
}
