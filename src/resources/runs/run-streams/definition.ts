/** Following a run: one stream of server-sent events instead of polling. Why, and how: docs/decisions/0175-runs-are-followed-by-events.md. */
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, Unusable } from "../../../jsonapi/query.ts";
import { runReaders } from "../runs/definition.ts";
import { parsePosition, type StreamPosition } from "./events.ts";

const position: Parameter<StreamPosition> = {
  doc: "The id of the last event that was received, to continue after it. The header `Last-Event-ID`, where it is sent, overrides it. `0.0.` sends both logs from their beginning.",
  parse: (text) => parsePosition(text) ?? new Unusable("must be the id of an event of this stream, such as 512.0.x"),
};

export const runStreams = defineResource<never>()(() => ({
  type: "run-streams",
  doc: "What happens to a run, as it happens: `run` events with `status` and `version` when the run, its plan or its apply changed; `log` events with `phase`, `offset`, `next-offset`, `text` and `ended`; and an `end` event with a `reason`, `finished` or `access`, after which nothing more comes.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    streamRunEvents: {
      method: "GET",
      path: "/runs/:run_id/events",
      summary: "Follow a run: a stream of server-sent events, open until the run has ended",
      needs: runReaders,
      query: { parameters: { "last-event-id": position } },
      answer: "events",
    },
  },
}));
