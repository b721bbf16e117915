/** Definitions → routes. Every route of the API is mounted here and nowhere else. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Actor } from "../access/actor.ts";
import type { Database } from "../database/database.ts";
import type { IfMatch, Operation, Resource } from "../jsonapi/define.ts";
import { parseBody } from "../jsonapi/input.ts";
import { parseQuery, type Page } from "../jsonapi/query.ts";
import { camel } from "../kernel/names.ts";
import { notFound } from "../kernel/errors.ts";
import type { Context, ServiceOptions } from "../resources/shared/context.ts";
import { parseQueryString } from "./query.ts";
import { basePath, sendAnswer } from "./respond.ts";

declare module "fastify" {
  interface FastifyRequest {
    actor: Actor | undefined;
  }
}

export interface MountOptions {
  readonly database: Database;
  readonly options: ServiceOptions;
}

export function mountResources(
  server: FastifyInstance,
  resources: readonly Resource<Context>[],
  mount: MountOptions,
): void {
  for (const resource of resources) {
    for (const [id, operation] of Object.entries(resource.definition.operations))
      mountOperation(server, resource, id, operation, mount);
  }
}

function mountOperation(
  server: FastifyInstance,
  resource: Resource<Context>,
  id: string,
  operation: Operation,
  mount: MountOptions,
): void {
  const { definition } = resource;
  const handler = resource.handlers[id];
  if (handler === undefined) throw new Error(`${id} has no handler`);
  server.route({
    method: operation.method,
    url: basePath + operation.path,
    config: { operation: id },
    handler: async (request, reply) => {
      const query = parseQuery(operation.query, parseQueryString(request.query as string));
      const body = operation.body === undefined ? undefined : parseBody(definition, operation.body, request.body);
      const answer = await handler({
        context: contextOf(request, mount),
        params: paramsOf(request.params as Record<string, string>),
        body,
        query,
        ifMatch: ifMatchOf(request.headers["if-match"]),
      });
      return sendAnswer(reply, { definition, operation, page: query["page"] as Page, url: request.url }, answer);
    },
  });
}

function contextOf(request: FastifyRequest, { database, options }: MountOptions): Context {
  const { actor } = request;
  if (actor === undefined) throw new Error("a route was reached without authentication");
  return { actor, database, options, requestId: request.id };
}

/** A parameter that no name or id could be is not found; no store function sees it. */
function paramsOf(params: Record<string, string>): Record<string, string> {
  const named: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    if (value === "" || value.length > 256 || value.includes("\0") || !value.isWellFormed()) throw notFound("thing");
    named[camel(name)] = value;
  }
  return named;
}

/** The strong validators of `If-Match`, without their quotes; weak ones never match. */
function ifMatchOf(header: string | undefined): IfMatch {
  if (header === undefined) return undefined;
  return header
    .split(",")
    .map((part) => part.trim())
    .map((part) => (part === "*" ? "*" : (/^"([^"]*)"$/.exec(part)?.[1] ?? "")))
    .filter((part) => part !== "");
}
