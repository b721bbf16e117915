/** Content negotiation: the media type of a response, and compression for the console. Never refuses a request. */
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

const accepts = (header: string | undefined, encoding: string): boolean =>
  header !== undefined && acceptedIn(header).some(({ type, quality }) => type === encoding && quality > 0);

export function prefers(header: string | undefined, type: string, alternatives: readonly string[]): boolean {
  if (header === undefined) return false;
  const accepted = acceptedIn(header);
  const wanted = accepted.find((each) => each.type === type)?.quality ?? 0;
  return wanted > 0 && !accepted.some((each) => alternatives.includes(each.type) && each.quality >= wanted);
}

const bytesMin = 4096;

const gzipped = promisify(gzip);

/**
 * Only the console's requests, because sizes of compressed responses leak content. No other site's page or navigation can send a
 * session cookie with our media type. See docs/decisions/0152-compression-for-the-console-only.md.
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

export async function compressed(response: SerializedResponse): Promise<SerializedResponse> {
  if (response.body.length < bytesMin) return response;
  return { ...response, body: await gzipped(response.body), encoding: "gzip" };
}
