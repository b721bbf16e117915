/** Mounts every route of the API from the resource definitions. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { refuseCaller } from "../access/run.ts";
import type { Database } from "../database/database.ts";
import type { Vault } from "../database/vault.ts";
import {
  type DocumentAnswer,
  type EventsAnswer,
  ifMatchTarget,
  type ListAnswer,
  type Operation,
  type MountedResource,
  type ResourceDefinition,
} from "../jsonapi/define.ts";
import { parseBody } from "../jsonapi/input.ts";
import { paramsOf } from "../jsonapi/paths.ts";
import { type Page, parseQuery, parseQueryString } from "../jsonapi/query.ts";
import { nowMs } from "../kernel/time.ts";
import type { CsvTable } from "../kernel/csv.ts";
import { hooks } from "../resources/index.ts";
import type { Context, ServiceOptions } from "../resources/shared/context.ts";
import { requireIfMatch } from "../resources/shared/preconditions.ts";
import type { Authenticator, KnownSession } from "./authenticate.ts";
import { isLarge, LargeBodies, streamBodies } from "./body.ts";
import { browserOf } from "./browser.ts";
import type { ResponseCache } from "./response-cache.ts";
import type { Allowance } from "./limits.ts";
import { prefers, compressed, acceptsGzip } from "./negotiation.ts";
import { basePath, mediaType, sendAnswer, sendSerialized, tableMediaType, serializeAnswer } from "./respond.ts";
import { sendEvents, sendTable } from "./streams.ts";

declare module "fastify" {
  interface FastifyRequest {
    session: KnownSession | undefined;
    allowance: Allowance | undefined;
  }
  interface FastifyContextConfig {
    readonly operation?: string;
    readonly signed?: true | undefined;
    readonly open?: true | undefined;
    readonly isPage?: true | undefined;
    readonly tooLarge?: string | undefined;
  }
}

export interface MountOptions {
  readonly database: Database;
  readonly options: ServiceOptions;
  readonly vault: Vault;
  readonly wake?: Context["wake"];
  readonly cache: ResponseCache;
  readonly signInsFrom: Authenticator["signInsFrom"];
  readonly isStopping?: () => boolean;
}

function answerDefinition(
  { definition }: MountedResource<Context>,
  operation: Operation,
  resources: readonly MountedResource<Context>[],
): ResourceDefinition {
  if (operation.answers === undefined) return definition;
  const other = resources.find((resource) => resource.definition.type === operation.answers);
  if (other === undefined) throw new Error(`no resource defines ${operation.answers}`);
  return other.definition;
}

export function mountResources(
  server: FastifyInstance,
  resources: readonly MountedResource<Context>[],
  mount: MountOptions,
): void {
  const operations = resources.flatMap((resource) =>
    Object.entries(resource.definition.operations).map(([id, operation]) => ({
      resource,
      id,
      operation,
      answered: answerDefinition(resource, operation, resources),
    })),
  );
  const streams = ({ operation: { body } }: MountedOperation) => typeof body === "object" && "stream" in body;
  for (const operation of operations.filter((each) => !streams(each))) mountOperation(server, operation, mount);
  void server.register(async (inner) => {
    streamBodies(inner);
    for (const operation of operations.filter(streams)) mountOperation(inner, operation, mount);
  });
}

interface MountedOperation {
  readonly resource: MountedResource<Context>;
  readonly id: string;
  readonly operation: Operation;
  readonly answered: ResourceDefinition;
}

function mountOperation(server: FastifyInstance, mounted: MountedOperation, mount: MountOptions): void {
  const { resource, id, operation, answered } = mounted;
  const { definition } = resource;
  const handler = resource.handlers[id];
  if (handler === undefined) throw new Error(`${id} has no handler`);
  const admission = resource.admissions?.[id];
  const target = ifMatchTarget(definition, operation);
  const isCached = isCacheable(operation, answered);
  server.route({
    method: operation.method,
    url: basePath + operation.path,
    ...(operation.bodyMax && { bodyLimit: operation.bodyMax.bytes }),
    config: { operation: id, signed: operation.signed, open: operation.open, tooLarge: operation.bodyMax?.sentence },
    ...(admission !== undefined && {
      preParsing: async (request: FastifyRequest, reply: FastifyReply) => {
        if (!isLarge(request)) return;
        await admission({
          context: contextOf(request, reply, operation, mount),
          params: paramsOf(request.params as Record<string, string>),
        });
        largeBodies.hold(reply);
      },
    }),
    handler: async (request, reply) => {
      const query = parseQuery(operation.query, parseQueryString(request.query as string));
      const body = operation.body === undefined ? undefined : parseBody(definition, operation.body, request.body);
      const asTable = operation.table !== undefined && wantsTable(request);
      const condition = target && requireIfMatch(mount.database, id, target, validatorsOf(request.headers["if-match"]));
      const answer = await handler({
        context: contextOf(request, reply, operation, mount, condition),
        params: paramsOf(request.params as Record<string, string>),
        body,
        query,
        asTable,
        lastEventId: request.headers["last-event-id"] as string | undefined,
      });
      if (operation.answer === "events") return sendEvents(reply, answer as EventsAnswer, mount.isStopping);
      if (asTable) return sendTable(reply, answer as CsvTable, mount.isStopping);
      const facts = { definition: answered, operation, page: query["page"] as Page, url: pathOf(request.url) };
      if (!isCached) return sendAnswer(reply, facts, answer);
      const until = cacheableUntil(answered, answer);
      const whole = serializeAnswer(facts, answer);
      // A response that can't be cached may contain a credential, such as a signed URL, and is never compressed.
      const written = until > nowMs() && acceptsGzip(request) ? await compressed(whole) : whole;
      mount.cache.store(request, written, { validator: answer.validator, until });
      return sendSerialized(reply, written);
    },
  });
}

/** When the answer changes although nothing is written; 0 where it changes all the time. */
function cacheableUntil(definition: ResourceDefinition, answer: DocumentAnswer<unknown> | ListAnswer<unknown>): number {
  const shown = "views" in answer ? answer.views : [answer.view];
  let until = answer.until ?? Number.POSITIVE_INFINITY;
  const look = ({ isUncacheable, changesAt }: ResourceDefinition, view: unknown) => {
    const at = isUncacheable ? 0 : changesAt?.(view);
    if (at != null) until = Math.min(until, new Date(at).getTime());
  };
  if (definition.changesAt !== undefined) for (const view of shown) look(definition, view);
  for (const included of answer.included ?? []) look(included.definition, included.view);
  return until;
}

const wantsTable = ({ headers }: FastifyRequest): boolean =>
  prefers(headers.accept, tableMediaType, [mediaType, "application/json"]);

const isCacheable = ({ method, answer, signed }: Operation, { isUncacheable }: ResourceDefinition): boolean =>
  method === "GET" && (answer === "document" || answer === "list") && !signed && !isUncacheable;

/** Raises `not-found` for agents and runs that call an operation that is not for them. */
function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { signed, open, callers }: Operation,
  mount: MountOptions,
  condition?: Pick<Context, "database" | "ifMatch">,
): Context {
  const actor = signed || open ? ({ kind: "anonymous" } as const) : request.session?.actor;
  if (actor === undefined) throw new Error("a route was reached without authentication");
  refuseCaller(actor, callers);
  const { database, options, vault, wake } = mount;
  return {
    actor,
    database,
    options,
    vault,
    ...condition,
    hooks,
    ...(wake && { wake }),
    requestId: request.id,
    address: request.ip,
    get browser() {
      return browserOf(request, reply, () => options.publicUrl);
    },
    get signIns() {
      return mount.signInsFrom(request.ip);
    },
    isGone: () => request.raw.socket.destroyed || mount.isStopping?.() === true,
    source: sourceOf(request),
    integration: integrationOf(request),
  };
}

const largeBodies = new LargeBodies(16);

function sourceOf(request: FastifyRequest): "tfe-api" | "terraform" {
  return /\b(Terraform|OpenTofu)\//i.test(request.headers["user-agent"] ?? "") ? "terraform" : "tfe-api";
}

function integrationOf({ headers }: FastifyRequest): "cloud" | "remote" | undefined {
  if (headers["x-terraform-integration"] === "cloud") return "cloud";
  return headers["terraform-version"] === undefined ? undefined : "remote";
}

const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/?]*/i, "");

/** Without quotes; weak validators never match. */
function validatorsOf(header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined;
  return header
    .split(",")
    .map((part) => part.trim())
    .map((part) => (part === "*" ? "*" : (/^"([^"]*)"$/.exec(part)?.[1] ?? "")))
    .filter((part) => part !== "");
}
