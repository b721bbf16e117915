/** Reading logs. There is no caller: the URL names its reader, who must still be allowed to read. */
import { implement } from "../../shared/context.ts";
import { checkLogUrl } from "../phases/log-urls.ts";
import { logReadBytesMax, readLog } from "../phases/logs.ts";
import { loadLog } from "../phases/reads.ts";
import { logs } from "./definition.ts";

export const logResource = implement(logs, {
  async readLog({ context, params, query }) {
    const tx = context.database.reader;
    const phase = await loadLog(tx, checkLogUrl(context, params.logKey));
    const bytes = await readLog(tx, context.vault, phase, query.offset ?? 0, query.limit ?? logReadBytesMax);
    return { size: bytes.length, bytes: oneOf(bytes) };
  },
});

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
