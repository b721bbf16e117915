/** The stream of server-sent events for following a run. See docs/decisions/0175-run-event-streams.md. */
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, InvalidParameter } from "../../../jsonapi/query.ts";
import { runReaders } from "../runs/definition.ts";
import { parsePosition, type StreamPosition } from "./events.ts";

const position: Parameter<StreamPosition> = {
  doc: "The id of the last received event, to continue after it. The header `Last-Event-ID` overrides it. `0.0.` sends both logs from the start.",
  parse: (text) =>
    parsePosition(text) ?? new InvalidParameter("must be the id of an event of this stream, such as 512.0.x"),
};

export const runStreams = defineResource<never>()(() => ({
  type: "run-streams",
  doc: "The live events of a run: `run` events with `status` and `version` when the run, its plan or its apply has changed; `log` events with `phase`, `offset`, `next-offset`, `text` and `ended`; and a last `end` event with the `reason`, which is `finished` or `access`.",
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
