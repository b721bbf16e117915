/** Reading logs. The URL is the right itself: there is no caller to ask what it may. */
import { notFound } from "../../../kernel/errors.ts";
import { implement } from "../../shared/context.ts";
import { checkLogUrl } from "../phases/log-urls.ts";
import { loggedPhase, logReadBytesMax, readLog } from "../phases/logs.ts";
import { logs } from "./definition.ts";

export const logResource = implement(logs, {
  async readLog({ context, params, query }) {
    const { phaseId } = checkLogUrl(context, params.logKey);
    const tx = context.database.reader;
    const phase = await loggedPhase(tx, phaseId);
    if (phase === undefined) throw notFound("log");
    const bytes = await readLog(tx, context.vault, phase, query.offset ?? 0, query.limit ?? logReadBytesMax);
    return { size: bytes.length, bytes: oneOf(bytes) };
  },
});

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
