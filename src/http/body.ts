/** Reads request bodies: media type, size, JSON. `jsonapi/input.ts` interprets the JSON. */
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
  // Clients send different media types, or none, with an empty body.
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

export function streamBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser("*", { bodyLimit: Number.MAX_SAFE_INTEGER }, (_request, payload, done) =>
    done(null, payload),
  );
}

const defaultBodyTimeoutMs = 60_000;
const silenceMs = 60_000;

/** A few clients that send a byte per minute would otherwise take all connections. */
export function limitSlowBodies({ raw, routeOptions }: FastifyRequest, bodyTimeoutMs = defaultBodyTimeoutMs): void {
  const { "content-length": length, "transfer-encoding": encoding } = raw.headers;
  if (raw.complete || ((length === undefined || length === "0") && encoding === undefined)) return;
  const isStreamed = routeOptions.config.isSigned === true;
  if (isStreamed) raw.setTimeout(silenceMs, () => raw.destroy());
  else {
    const timer = setTimeout(() => giveUp(raw), bodyTimeoutMs).unref();
    raw.once("close", () => clearTimeout(timer));
  }
}

/** The body parser answers with the error. Destroying the request would close the connection on which the response is sent. */
function giveUp(raw: IncomingMessage): void {
  if (raw.listenerCount("error") === 0) raw.destroy();
  else
    raw.emit("error", new AppError("timed-out", "The request's body took too long to arrive. Send the request again."));
}

export const isLarge = ({ headers }: FastifyRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > bodyBytesMax;

/** Bounds how many large bodies are read at the same time, together and for each sender. */
export class LargeBodyLimiter {
  readonly #max: number;
  readonly #maxPerSender: number;
  /** One entry for each body under way. */
  readonly #senders: string[] = [];

  constructor(max: number, maxPerSender = max) {
    this.#max = max;
    this.#maxPerSender = maxPerSender;
  }

  /** Until the response is closed. Throws `too-many-requests`. */
  acquire({ raw }: FastifyReply, sender = ""): void {
    const senders = this.#senders;
    // A client that has disconnected would never release its slot.
    if (raw.destroyed) return;
    if (senders.length >= this.#max || senders.filter((each) => each === sender).length >= this.#maxPerSender)
      throw new AppError("too-many-requests", "The server is reading too many large requests. Try again shortly.", {
        retryAfterSeconds: 2,
      });
    senders.push(sender);
    raw.once("close", () => void senders.splice(senders.indexOf(sender), 1));
  }
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  try {
    return parseBounded(body, utf8);
  } catch (error) {
    if (error instanceof TooManyMembers) throw new AppError("too-large", `${error.message} Send a smaller body.`);
    throw new AppError("bad-request", "The body is not JSON in UTF-8.");
  }
}
