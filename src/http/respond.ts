/** Turns answers and errors of operations into HTTP responses, and gives them their status codes. */
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
import { pagination, paginationWithoutTotal, withParameters } from "../jsonapi/pagination.ts";
import type { HttpMapping } from "../jsonapi/openapi.ts";
import type { Page } from "../jsonapi/query.ts";
import { AppError, type ErrorCode } from "../kernel/errors.ts";
import type { RuleMatch } from "../resources/shared/hooks.ts";
import { etagOf } from "../resources/shared/preconditions.ts";

export const mediaType = "application/vnd.api+json";
export const basePath = "/api/v2";
export const tableMediaType = "text/csv";
const eventsMediaType = "text/event-stream";

const statusOf: Record<AnswerKind, number> = {
  document: 200,
  created: 201,
  // As the API reference specifies for team access.
  granted: 200,
  list: 200,
  "cursor-list": 200,
  content: 200,
  nothing: 204,
  done: 200,
  accepted: 202,
  events: 200,
};

const errorStatuses: Record<ErrorCode, { status: number; title: string }> = {
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

export const unavailableStatus = errorStatuses.unavailable.status;

const contentMediaType = "application/json";

export const httpMapping: HttpMapping = {
  statusOf,
  mediaType,
  contentMediaType,
  tableMediaType,
  eventsMediaType,
  basePath,
  refusals: {
    400: "The body is not JSON, or a query parameter is invalid.",
    401: "The token is missing, unknown, expired or revoked, or it is a user token and the organization refuses those.",
    403: "The caller can see the resource but is not allowed to do this.",
    404: "The resource does not exist, or the caller is not allowed to see it.",
    409: "The state of the resource does not allow this.",
    412: "If-Match does not match the resource's ETag, or access has changed since the access-version that was sent.",
    413: "The body is too large.",
    415: "The media type of the body is not supported.",
    422: "The body has the wrong shape, or attributes are invalid. The response lists all errors.",
    429: "Too many requests. Retry-After says when to try again.",
    503: "The database can't be reached or is busy. Retry-After says when to try again.",
  },
};

export interface AnswerContext {
  readonly definition: ResourceDefinition;
  readonly operation: Operation;
  readonly page: Page;
  readonly url: string;
  readonly warnings: readonly RuleMatch[];
}

export function sendAnswer(reply: FastifyReply, context: AnswerContext, answer: unknown): FastifyReply {
  const { operation, warnings } = context;
  const isEmpty = answer === undefined && operation.answer !== "content";
  if (isEmpty && warnings.length > 0) return sendText(reply.code(statusOf.document), `{${warningsText(warnings)}}`);
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
      return sendText(reply, cursorDocument(context, answer as CursorAnswer<unknown>));
    default:
      if (answer === undefined) return reply.code(statusOf.nothing).send();
      return sendSerialized(reply, serializeAnswer(context, answer));
  }
}

export interface SerializedResponse {
  readonly body: Buffer;
  readonly etag: string | undefined;
  readonly encoding?: "gzip";
}

export function serializeAnswer(context: AnswerContext, answer: unknown): SerializedResponse {
  if (context.operation.answer === "list")
    return { body: Buffer.from(listDocument(context, answer as ListAnswer<unknown>)), etag: undefined };
  const { view, included } = answer as DocumentAnswer<unknown>;
  const etag = etagOf(context.definition, view);
  const meta = context.warnings.length === 0 ? "" : `,${warningsText(context.warnings)}`;
  const text = `{"data":${writeResource(context.definition, view)}${writeIncluded(included)}${meta}}`;
  return { body: Buffer.from(text), etag: etag === undefined ? undefined : `"${etag}"` };
}

/** Of access rules that only advise. */
function warningsText(matches: readonly RuleMatch[]): string {
  const warnings = matches.map(({ rule, message }) => ({ rule: rule.id, name: rule.name, message }));
  return `"meta":${JSON.stringify({ warnings })}`;
}

/** As bytes: the framework would add a charset to a string, which this media type does not allow. */
export function sendSerialized(reply: FastifyReply, { body, etag, encoding }: SerializedResponse): FastifyReply {
  if (etag !== undefined) reply.header("etag", etag);
  if (encoding !== undefined) reply.header("content-encoding", encoding).header("vary", "accept-encoding");
  return reply.header("content-type", mediaType).send(body);
}

export const cachedStatus = statusOf.document;

export function sendCached(response: ServerResponse, cached: SerializedResponse, headers: readonly string[]): void {
  const { body, etag, encoding } = cached;
  const own = ["content-type", mediaType, "content-length", String(body.length)];
  if (etag !== undefined) own.push("etag", etag);
  if (encoding !== undefined) own.push("content-encoding", encoding, "vary", "accept-encoding");
  response.writeHead(cachedStatus, [...headers, ...own]);
  response.end(body);
}

/** With the length, so that a client can detect a truncated body. */
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

/** Neither caches nor proxies may store or buffer the stream. */
export function eventHeaders(reply: FastifyReply): FastifyReply {
  return reply
    .code(statusOf.events)
    .header("content-type", eventsMediaType)
    .header("cache-control", "no-store")
    .header("x-accel-buffering", "no");
}

function listDocument({ definition, page, url }: AnswerContext, answer: ListAnswer<unknown>): string {
  const { totalCount, hasMore, statusCounts, meta: extra } = answer;
  const data = `{"data":${writeResources(definition, answer.views)}${writeIncluded(answer.included)}`;
  if (hasMore !== undefined) {
    const { links, meta } = paginationWithoutTotal({ page, hasMore, url });
    return `${data},"links":${JSON.stringify(links)},"meta":${JSON.stringify({ ...meta, ...extra })}}`;
  }
  if (totalCount === undefined) return `${data}}`;
  const { links, meta } = pagination({ page, totalCount, url });
  const counts = { ...meta, ...(statusCounts && { "status-counts": statusCounts }), ...extra };
  return `${data},"links":${JSON.stringify(links)},"meta":${JSON.stringify(counts)}}`;
}

function cursorDocument({ definition, url }: AnswerContext, answer: CursorAnswer<unknown>): string {
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
  refusal: errorStatuses["bad-request"].status,
  unknownClient: errorStatuses.unauthorized.status,
} as const;

/** OAuth clients identify errors by their code, not by the status. */
export function sendOauth(reply: FastifyReply, kind: keyof typeof oauthStatus, document: object): FastifyReply {
  if (kind === "unknownClient") reply.header("www-authenticate", "Basic");
  return sendJson(reply.code(oauthStatus[kind]), document, "application/json");
}

export const withBadRequestStatus = (reply: FastifyReply): FastifyReply =>
  reply.code(errorStatuses["bad-request"].status);

export const sendRedirect = (reply: FastifyReply, path: string): FastifyReply => reply.redirect(path, 302);

export function sendReceipt(reply: FastifyReply, isStored: boolean): FastifyReply {
  return reply.code(isStored ? statusOf.accepted : statusOf.nothing).send();
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

export function errorAnswer(error: unknown): ErrorAnswer {
  const known =
    error instanceof AppError
      ? error
      : new AppError(
          "internal",
          "Internal error. Give the request id to the operator; the server log has the details.",
        );
  const { status, title } = errorStatuses[known.code];
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
    // The rest of the request may still arrive and must not be parsed as the next request.
    ...(code === "timed-out" && { connection: "close" }),
  };
}

export function setErrorStatus(reply: FastifyReply, error: unknown): string[] {
  const { status, headers, text } = errorAnswer(error);
  reply.code(status).headers(headers);
  return (JSON.parse(text) as { errors: { detail: string }[] }).errors.map(({ detail }) => detail);
}

export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, headers, text } = errorAnswer(error);
  return reply.code(status).headers(headers).send(Buffer.from(text));
}
