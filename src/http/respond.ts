/** The only file that knows status codes: answers and errors → HTTP. */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type {
  AnswerKind,
  ContentAnswer,
  CursorAnswer,
  DocumentAnswer,
  ListAnswer,
  Operation,
  ResourceDefinition,
} from "../jsonapi/define.ts";
import { writeIncluded, writeResource, writeResources } from "../jsonapi/document.ts";
import { openPagination, pagination, withParameters } from "../jsonapi/pagination.ts";
import type { HttpFacts } from "../jsonapi/openapi.ts";
import type { Page } from "../jsonapi/query.ts";
import { AppError, type ErrorCode } from "../kernel/errors.ts";
import { etagOf } from "../resources/shared/preconditions.ts";

export const mediaType = "application/vnd.api+json";
export const basePath = "/api/v2";
export const tableMediaType = "text/csv";
const eventsMediaType = "text/event-stream";

const statusOf: Record<AnswerKind, number> = {
  document: 200,
  created: 201,
  // As the specification says of team access.
  granted: 200,
  list: 200,
  "cursor-list": 200,
  content: 200,
  nothing: 204,
  done: 200,
  accepted: 202,
  events: 200,
};

const errorFacts: Record<ErrorCode, { status: number; title: string }> = {
  "bad-request": { status: 400, title: "bad request" },
  unauthorized: { status: 401, title: "unauthorized" },
  forbidden: { status: 403, title: "forbidden" },
  "not-found": { status: 404, title: "not found" },
  "timed-out": { status: 408, title: "request timeout" },
  conflict: { status: 409, title: "conflict" },
  "precondition-failed": { status: 412, title: "precondition failed" },
  "too-large": { status: 413, title: "payload too large" },
  "unsupported-media-type": { status: 415, title: "unsupported media type" },
  "expectation-failed": { status: 417, title: "expectation failed" },
  invalid: { status: 422, title: "invalid attribute" },
  "invalid-record": { status: 422, title: "invalid attributes" },
  unsupported: { status: 422, title: "not supported" },
  "too-many-requests": { status: 429, title: "too many requests" },
  "headers-too-large": { status: 431, title: "request header fields too large" },
  internal: { status: 500, title: "internal server error" },
  unavailable: { status: 503, title: "service unavailable" },
};

/** Of a page that is on its way. */
export const unavailableStatus = errorFacts.unavailable.status;

const contentMediaType = "application/json";

export const httpFacts: HttpFacts = {
  statusOf,
  mediaType,
  contentMediaType,
  tableMediaType,
  eventsMediaType,
  basePath,
  refusals: {
    400: "The body is not JSON, or a query parameter is unusable.",
    401: "No token, or an unknown, expired or revoked one; or a user's, where the organization refuses those.",
    403: "The caller may see the thing, but not do this to it.",
    404: "There is no such thing, or the caller may not see it.",
    409: "The thing's state does not allow it.",
    412: "If-Match does not fit the thing's ETag, or access has changed since the access-version that was sent.",
    413: "The body is too large.",
    415: "The body is of another media type.",
    422: "The body has the wrong shape, or an attribute is invalid; every fault is listed.",
    429: "Too many requests; Retry-After tells when to come back.",
    503: "The database can't be reached or is busy; Retry-After tells when to come back.",
  },
};

export interface AnswerFacts {
  readonly definition: ResourceDefinition;
  readonly operation: Operation;
  readonly page: Page;
  /** The path and query of the request. */
  readonly url: string;
}

export function sendAnswer(reply: FastifyReply, facts: AnswerFacts, answer: unknown): FastifyReply {
  const { operation } = facts;
  reply.code(statusOf[operation.answer]);
  switch (operation.answer) {
    case "nothing":
    case "done":
    case "accepted":
      return reply.send();
    case "content":
      return answer === undefined
        ? reply.code(statusOf.nothing).send()
        : sendContent(reply, operation.mediaType ?? contentMediaType, answer as ContentAnswer);
    case "cursor-list":
      return sendText(reply, cursorDocument(facts, answer as CursorAnswer<unknown>));
    default:
      // Nothing came of what was waited for.
      if (answer === undefined) return reply.code(statusOf.nothing).send();
      return sendSerialized(reply, serializeAnswer(facts, answer));
  }
}

/** A document or a list, as it is sent. */
export interface SerializedResponse {
  readonly body: Buffer;
  /** With its quotes. */
  readonly etag: string | undefined;
  /** How the body is written, where it is not plain. */
  readonly encoding?: "gzip";
}

export function serializeAnswer(facts: AnswerFacts, answer: unknown): SerializedResponse {
  if (facts.operation.answer === "list")
    return { body: Buffer.from(listDocument(facts, answer as ListAnswer<unknown>)), etag: undefined };
  const { view, included } = answer as DocumentAnswer<unknown>;
  const etag = etagOf(facts.definition, view);
  const text = `{"data":${writeResource(facts.definition, view)}${writeIncluded(included)}}`;
  return { body: Buffer.from(text), etag: etag === undefined ? undefined : `"${etag}"` };
}

/** As bytes: to a string the framework would add a charset, which this media type must not have. */
export function sendSerialized(reply: FastifyReply, { body, etag, encoding }: SerializedResponse): FastifyReply {
  if (etag !== undefined) reply.header("etag", etag);
  if (encoding !== undefined) reply.header("content-encoding", encoding).header("vary", "accept-encoding");
  return reply.header("content-type", mediaType).send(body);
}

/** The same, past the framework: nothing more is to be decided about it. */
export function sendCached(response: ServerResponse, written: SerializedResponse, headers: readonly string[]): void {
  const { body, etag, encoding } = written;
  const own = ["content-type", mediaType, "content-length", String(body.length)];
  if (etag !== undefined) own.push("etag", etag);
  if (encoding !== undefined) own.push("content-encoding", encoding, "vary", "accept-encoding");
  response.writeHead(statusOf.document, [...headers, ...own]);
  response.end(body);
}

/** With its length, so that a client whose connection breaks off knows that something is missing. */
function sendContent(reply: FastifyReply, type: string, { size, bytes }: ContentAnswer): FastifyReply {
  return reply
    .header("content-type", type)
    .header("content-length", size)
    .send(Readable.from(bytes, { objectMode: false }));
}

export function tableHeaders(reply: FastifyReply, name: string): FastifyReply {
  return reply
    .code(statusOf.list)
    .header("content-type", `${tableMediaType}; charset=utf-8; header=present`)
    .header("content-disposition", `attachment; filename="${name}.csv"`);
}

/** Caches must not keep it, and proxies not gather it. */
export function eventHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .code(statusOf.events)
    .header("content-type", eventsMediaType)
    .header("cache-control", "no-store")
    .header("x-accel-buffering", "no");
}

function listDocument({ definition, page, url }: AnswerFacts, answer: ListAnswer<unknown>): string {
  const { totalCount, hasMore, statusCounts, meta: told } = answer;
  const data = `{"data":${writeResources(definition, answer.views)}${writeIncluded(answer.included)}`;
  if (hasMore !== undefined) {
    const { links, meta } = openPagination({ page, hasMore, url });
    return `${data},"links":${JSON.stringify(links)},"meta":${JSON.stringify({ ...meta, ...told })}}`;
  }
  if (totalCount === undefined) return `${data}}`;
  const { links, meta } = pagination({ page, totalCount, url });
  const counts = { ...meta, ...(statusCounts && { "status-counts": statusCounts }), ...told };
  return `${data},"links":${JSON.stringify(links)},"meta":${JSON.stringify(counts)}}`;
}

function cursorDocument({ definition, url }: AnswerFacts, answer: CursorAnswer<unknown>): string {
  const next = answer.nextCursor === undefined ? null : withParameters(url, { "page[cursor]": answer.nextCursor });
  return `{"data":${writeResources(definition, answer.views)},"links":${JSON.stringify({ self: url, next })}}`;
}

function sendText(reply: FastifyReply, json: string, type: string = mediaType): FastifyReply {
  return reply.header("content-type", type).send(Buffer.from(json));
}

export function sendJson(reply: FastifyReply, document: object, type?: string): FastifyReply {
  return sendText(reply, JSON.stringify(document), type);
}

const oauthStatus = {
  answer: statusOf.document,
  refusal: errorFacts["bad-request"].status,
  /** Of a client that named itself by the header. */
  stranger: errorFacts.unauthorized.status,
} as const;

/** For clients of OAuth, who know its errors by their names and nearly all of them by one status. */
export function sendOauth(reply: FastifyReply, kind: keyof typeof oauthStatus, document: object): FastifyReply {
  if (kind === "stranger") reply.header("www-authenticate", "Basic");
  return sendJson(reply.code(oauthStatus[kind]), document, "application/json");
}

/** For a page that says what is wrong with a request. */
export const refusing = (reply: FastifyReply): FastifyReply => reply.code(errorFacts["bad-request"].status);

/** For this time; the next one may lead elsewhere. */
export const sendRedirect = (reply: FastifyReply, path: string): FastifyReply => reply.redirect(path, 302);

/** A webhook is answered before it is worked off, and with nothing to read. */
export function sendReceipt(reply: FastifyReply, isStored: boolean): FastifyReply {
  return reply.code(isStored ? statusOf.accepted : statusOf.nothing).send();
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** An error that is not ours tells nothing of the inside. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const known =
    error instanceof AppError
      ? error
      : new AppError("internal", "Something went wrong on our side. The request id leads to it in the service's log.");
  const { status, title } = errorFacts[known.code];
  const errors = known.faults.map(({ detail, pointer, parameter }) => ({
    status: String(status),
    title,
    detail,
    ...((pointer !== undefined || parameter !== undefined) && {
      source: pointer === undefined ? { parameter } : { pointer },
    }),
  }));
  return { status, headers: headersOfError(known), text: JSON.stringify({ errors }) };
}

function headersOfError({ code, retryAfterSeconds }: AppError): Record<string, string> {
  return {
    "content-type": mediaType,
    ...(retryAfterSeconds !== undefined && { "retry-after": String(Math.ceil(retryAfterSeconds)) }),
    ...(code === "too-many-requests" && {
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset": (retryAfterSeconds ?? 1).toFixed(3),
    }),
    ...(code === "unauthorized" && { "www-authenticate": "Bearer" }),
    // The rest of the request may still come, and is not to be taken for the next one.
    ...(code === "timed-out" && { connection: "close" }),
  };
}

/** For a page that tells the same: the status, the headers, and the sentences to be shown. */
export function setErrorStatus(reply: FastifyReply, error: unknown): string[] {
  const { status, headers, text } = errorAnswer(error);
  reply.code(status).headers(headers);
  return (JSON.parse(text) as { errors: { detail: string }[] }).errors.map(({ detail }) => detail);
}

export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, headers, text } = errorAnswer(error);
  return reply.code(status).headers(headers).send(Buffer.from(text));
}
