/**
 * Answers made smaller on their way to a browser: a page of workspaces is half a megabyte of JSON that says the same names again and
 * again. Only for the console's own requests, and only for answers that could be kept; programs are answered as ever. Why, and what an
 * onlooker could learn otherwise: docs/decisions/0152-answers-made-smaller.md.
 */
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { accepts } from "./accept.ts";
import { isOfMediaType, sessionSecretIn } from "./browser.ts";
import type { WrittenAnswer } from "./respond.ts";

/** What fits into a few packets is not worth the wait. */
const bytesMin = 4096;

const gzipped = promisify(gzip);

/**
 * By a session, and with our media type even where nothing is sent: no page of another host can have a browser do that, nor is it how a
 * browser goes to an address.
 */
export function wantsSmaller(request: Pick<IncomingMessage, "headers">): boolean {
  const { headers } = request;
  return (
    headers.cookie !== undefined &&
    isOfMediaType(headers["content-type"]) &&
    accepts(headers["accept-encoding"], "gzip") &&
    sessionSecretIn(request) !== undefined
  );
}

/** Off the thread that answers. */
export async function smaller(written: WrittenAnswer): Promise<WrittenAnswer> {
  if (written.body.length < bytesMin) return written;
  return { ...written, body: await gzipped(written.body), encoding: "gzip" };
}
