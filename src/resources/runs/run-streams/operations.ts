/** Opens a stream: load → authorize → check the limits → stream. */
import { AppError } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { loadRun } from "../runs/reads.ts";
import { runStreams } from "./definition.ts";
import { parsePosition, type StreamPosition } from "./events.ts";
import { openStreamsOf } from "./open-streams.ts";
import { positionAtOpening, RunEventStream, streamLimits } from "./stream.ts";

export const runStreamResource = implement(runStreams, {
  async streamRunEvents({ context, params, query, lastEventId }) {
    const requested = positionIn(lastEventId) ?? query.lastEventId;
    const view = await loadRun(context.database.reader, context, params.runId);
    const limits = { ...streamLimits, ...context.options.streams };
    const close = openStreamsOf(context.database).open(context.actor, view.organizationId, limits);
    const stream = new RunEventStream(context, view, requested ?? positionAtOpening(view), limits);
    return { events: stream.events(), close };
  },
});

/** A browser sends the header automatically on reconnect, so it is newer than the query parameter. Throws `bad-request`. */
function positionIn(header: string | undefined): StreamPosition | undefined {
  if (header === undefined || header === "") return undefined;
  const position = parsePosition(header);
  if (position === undefined)
    throw new AppError(
      "bad-request",
      "The header Last-Event-ID is not the id of an event of this stream. Send the id of the last event that you received, or omit the header.",
    );
  return position;
}
