/** Limits concurrent CSV exports, and stops an export when its caller loses access. */
import type { Actor } from "../../../access/actor.ts";
import type { CsvTable } from "../../../kernel/csv.ts";
import { ConcurrencyLimit } from "../../shared/contents/concurrency-limit.ts";
import { accessCheckMs, type Context } from "../../shared/context.ts";
import { recheckAccess } from "./reads.ts";

/** Each export uses a few MiB until its client has read it. */
const exportsMax = { all: 4, organization: 2 };
const runningExports = new ConcurrencyLimit(
  `Too many CSV exports are running: the limit is ${exportsMax.organization} per organization and ${exportsMax.all} per server. Try again when one of them has finished.`,
  exportsMax,
);

/** `check` must raise when the caller loses access; that aborts the export. Throws `too-many-requests`. */
export function startExport(
  context: Context,
  organizationId: string,
  table: Omit<CsvTable, "close">,
  check: (actor: Actor) => Promise<unknown>,
): CsvTable {
  const close = runningExports.acquire({ organization: organizationId });
  return { ...table, pieces: whileAllowed(context, table.pieces, check), close };
}

async function* whileAllowed<Piece>(
  context: Context,
  pieces: AsyncIterable<Piece>,
  check: (actor: Actor) => Promise<unknown>,
): AsyncGenerator<Piece> {
  const intervalMs = context.options.streams?.checkMs ?? accessCheckMs;
  let checkedAtMs = performance.now();
  for await (const piece of pieces) {
    if (performance.now() - checkedAtMs >= intervalMs) {
      await recheckAccess(context, check);
      checkedAtMs = performance.now();
    }
    yield piece;
  }
}
