/** Tables on their way out: few at once, and only while their caller can read what they show. */
import type { Actor } from "../../../access/actor.ts";
import type { Table } from "../../../kernel/csv.ts";
import { Crowd } from "../../shared/contents/crowd.ts";
import { accessCheckMs, type Context } from "../../shared/context.ts";
import { recheckAccess } from "./reads.ts";

/** Each holds a few MiB for as long as its reader takes. */
const max = { all: 4, organization: 2 };
const running = new Crowd(
  `Too many CSV exports are running: at most ${max.organization} for an organization and ${max.all} on a server at a time. Try again when one of them has ended.`,
  max,
);

/**
 * Takes a place until the table is closed. `check` raises what it raises where a caller can't read the table any more: then it breaks off.
 * Raises `too-many-requests`.
 */
export function exported(
  context: Context,
  organizationId: string,
  table: Omit<Table, "close">,
  check: (actor: Actor) => Promise<unknown>,
): Table {
  const close = running.take({ organization: organizationId });
  return { ...table, pieces: whileAllowed(context, table.pieces, check), close };
}

async function* whileAllowed<Piece>(
  context: Context,
  pieces: AsyncIterable<Piece>,
  check: (actor: Actor) => Promise<unknown>,
): AsyncGenerator<Piece> {
  const everyMs = context.options.streams?.checkMs ?? accessCheckMs;
  let checkedAt = performance.now();
  for await (const piece of pieces) {
    if (performance.now() - checkedAt >= everyMs) {
      await recheckAccess(context, check);
      checkedAt = performance.now();
    }
    yield piece;
  }
}
