/** Reading the log of a plan or an apply, as engines do: by range, from a URL that is its own permission. */
import { defineResource } from "../../../jsonapi/define.ts";
import { type Parameter, Unusable } from "../../../jsonapi/query.ts";

const bytes = (doc: string): Parameter<number> => ({
  doc,
  parse: (text) =>
    /^\d{1,15}$/.test(text) ? Number(text) : new Unusable("must be a whole number of bytes that is not negative"),
});

export const logs = defineResource<never>()(() => ({
  type: "logs",
  doc: "What an engine said while it planned or applied. The first byte is STX (0x02); the last one, ETX (0x03), says that nothing more comes.",
  id: () => "",
  attributes: {},
  relationships: {},
  operations: {
    readLog: {
      method: "GET",
      path: "/logs/:log_key",
      summary: "Read a part of a log; nothing, where there is nothing yet or no more",
      needs:
        "the URL that a plan or an apply shows as its log-read-url; no token. The token that was shown the URL must still be allowed to read the run",
      signed: true,
      query: {
        parameters: {
          offset: bytes("Where to begin; 0 without it."),
          limit: bytes("How many bytes at most; however many are asked for, there are never more than 262144."),
        },
      },
      answer: "content",
      mediaType: "text/plain; charset=utf-8",
    },
  },
}));
