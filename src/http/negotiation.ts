/** Which form of a response its caller gets, by its headers: a media type, and compression for the console. No caller is refused for them. */
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { isOfMediaType, sessionSecretIn } from "./browser.ts";
import type { SerializedResponse } from "./respond.ts";

interface AcceptedEncoding {
  readonly type: string;
  readonly quality: number;
}

function acceptedIn(header: string): AcceptedEncoding[] {
  return header.split(",").map((part) => {
    const [type = "", ...parameters] = part.split(";").map((piece) => piece.trim().toLowerCase());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    const quality = weight === undefined ? 1 : Number(weight.slice(2));
    return { type, quality: Number.isFinite(quality) ? quality : 0 };
  });
}

/** Whether a way of encoding is named, and not refused. */
const accepts = (header: string | undefined, encoding: string): boolean =>
  header !== undefined && acceptedIn(header).some(({ type, quality }) => type === encoding && quality > 0);

/** Whether a media type is wanted more than each of the usual ones that are named. A wildcard names nothing. */
export function prefers(header: string | undefined, type: string, usual: readonly string[]): boolean {
  if (header === undefined) return false;
  const accepted = acceptedIn(header);
  const wanted = accepted.find((each) => each.type === type)?.quality ?? 0;
  return wanted > 0 && !accepted.some((each) => usual.includes(each.type) && each.quality >= wanted);
}

/** What fits into a few packets is not worth the wait. */
const bytesMin = 4096;

const gzipped = promisify(gzip);

/**
 * Whether the response is compressed: for the console alone, because of what an onlooker could learn otherwise
 * (docs/decisions/0152-answers-made-compressed.md). By a session, and with our media type even where nothing is sent: no page of another host can have a browser do that, nor is it how a
 * browser goes to an address.
 */
export function acceptsGzip(request: Pick<IncomingMessage, "headers">): boolean {
  const { headers } = request;
  return (
    headers.cookie !== undefined &&
    isOfMediaType(headers["content-type"]) &&
    accepts(headers["accept-encoding"], "gzip") &&
    sessionSecretIn(request) !== undefined
  );
}

/** Off the thread that answers. */
export async function compressed(written: SerializedResponse): Promise<SerializedResponse> {
  if (written.body.length < bytesMin) return written;
  return { ...written, body: await gzipped(written.body), encoding: "gzip" };
}
