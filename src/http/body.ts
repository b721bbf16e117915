/** Request bodies as they arrive: media type, size, JSON. What the JSON means is `jsonapi/input.ts`'s business. */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { parseBounded, TooManyMembers } from "../kernel/bounded-json.ts";
import { AppError } from "../kernel/errors.ts";
import { mediaType } from "./respond.ts";

export const bodyBytesMax = 1024 * 1024;
const accepted = [mediaType, "application/json"];

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

export function acceptBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser(accepted, { parseAs: "buffer", bodyLimit: bodyBytesMax }, (_request, body, done) => {
    try {
      done(null, parseJson(body as Buffer));
    } catch (error) {
      done(error as Error);
    }
  });
  // An empty body needs no media type: some clients name one, some another, some none.
  server.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: bodyBytesMax }, (_request, body, done) => {
    if (body.length === 0) done(null, undefined);
    else
      done(
        new AppError(
          "unsupported-media-type",
          `The body must be of the media type ${mediaType}; set the Content-Type header to it.`,
        ),
      );
  });
}

/** For routes that take bytes as they come: no media type is asked for, nothing is gathered, the operation bounds them. */
export function streamBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", { bodyLimit: Number.MAX_SAFE_INTEGER }, (_request, payload, done) =>
    done(null, payload),
  );
}

/** How long a body that is gathered may take to arrive. */
const bodyTimeoutMsByDefault = 60_000;
/** How long a stream may bring nothing at all. */
const silenceMs = 60_000;

/** Ends requests that dawdle: without it, a few clients that send a byte a minute would take all the connections. */
export function limitSlowBodies({ raw, routeOptions }: FastifyRequest, bodyTimeoutMs = bodyTimeoutMsByDefault): void {
  const { "content-length": length, "transfer-encoding": encoding } = raw.headers;
  if (raw.complete || ((length === undefined || length === "0") && encoding === undefined)) return;
  const passedOn = routeOptions.config.signed === true;
  if (passedOn) raw.setTimeout(silenceMs, () => raw.destroy());
  else {
    const timer = setTimeout(() => giveUp(raw), bodyTimeoutMs).unref();
    raw.once("close", () => clearTimeout(timer));
  }
}

/** Whoever gathers the body answers with the error. Destroying the request would cut the wire on which the answer goes. */
function giveUp(raw: IncomingMessage): void {
  if (raw.listenerCount("error") === 0) raw.destroy();
  else raw.emit("error", new AppError("timed-out", "The request's body took too long to arrive. Send it at once."));
}

export const isLarge = ({ headers }: FastifyRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > bodyBytesMax;

/** How many bodies that are larger than others are gathered at once, and of one sender: they are all in memory. */
export class LargeBodies {
  readonly #max: number;
  readonly #eachMax: number;
  readonly #held: string[] = [];

  constructor(max: number, eachMax = max) {
    this.#max = max;
    this.#eachMax = eachMax;
  }

  /** Until the request is answered. Raises `too-many-requests`. */
  hold({ raw }: FastifyReply, whose = ""): void {
    const held = this.#held;
    // Whoever has gone meanwhile sends nothing more, and would never leave the place again.
    if (raw.destroyed) return;
    if (held.length >= this.#max || held.filter((each) => each === whose).length >= this.#eachMax)
      throw new AppError("too-many-requests", "Too many large requests are being read at once. Try again shortly.", {
        retryAfterSeconds: 2,
      });
    held.push(whose);
    raw.once("close", () => void held.splice(held.indexOf(whose), 1));
  }
}

/** Undefined for an empty body. Raises `bad-request`. */
function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return parseBounded(body, utf8);
  } catch (error) {
    if (error instanceof TooManyMembers) throw new AppError("too-large", `${error.message} Send less at once.`);
    throw new AppError("bad-request", "The body is not JSON in UTF-8.");
  }
}
