/** Mounts every route of the API from the resource definitions. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { requireAllowedCaller } from "../access/run.ts";
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
import type { RuleMatch } from "../resources/shared/hooks.ts";
import { requireIfMatch } from "../resources/shared/preconditions.ts";
import type { Authenticator, AuthenticatedCaller } from "./authenticate.ts";
import { isLarge, LargeBodyLimiter, streamBodies } from "./body.ts";
import { browserOf } from "./browser.ts";
import type { ResponseCache } from "./response-cache.ts";
import type { Allowance } from "./limits.ts";
import { prefers, compressed, acceptsGzip } from "./negotiation.ts";
import {
  type AnswerContext,
  basePath,
  mediaType,
  sendAnswer,
  sendSerialized,
  type SerializedResponse,
  tableMediaType,
  serializeAnswer,
} from "./respond.ts";
import { sendEvents, sendTable } from "./streams.ts";

declare module "fastify" {
  interface FastifyRequest {
    caller: AuthenticatedCaller | undefined;
    allowance: Allowance | undefined;
  }
  interface FastifyContextConfig {
    readonly operation?: string;
    readonly isSigned?: true | undefined;
    readonly isPublic?: true | undefined;
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

function answerDefinitionOf(
  { definition }: MountedResource<Context>,
  operation: Operation,
  resources: readonly MountedResource<Context>[],
): ResourceDefinition {
  if (operation.answerType === undefined) return definition;
  const other = resources.find((resource) => resource.definition.type === operation.answerType);
  if (other === undefined) throw new Error(`no resource defines ${operation.answerType}`);
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
      answerDefinition: answerDefinitionOf(resource, operation, resources),
    })),
  );
  const takesStream = ({ operation: { body } }: MountedOperation) => typeof body === "object" && "stream" in body;
  for (const operation of operations.filter((each) => !takesStream(each))) mountOperation(server, operation, mount);
  void server.register(async (inner) => {
    streamBodies(inner);
    for (const operation of operations.filter(takesStream)) mountOperation(inner, operation, mount);
  });
}

interface MountedOperation {
  readonly resource: MountedResource<Context>;
  readonly id: string;
  readonly operation: Operation;
  readonly answerDefinition: ResourceDefinition;
}

function mountOperation(server: FastifyInstance, mounted: MountedOperation, mount: MountOptions): void {
  const { resource, id, operation, answerDefinition } = mounted;
  const { definition } = resource;
  const handler = resource.handlers[id];
  if (handler === undefined) throw new Error(`${id} has no handler`);
  const bodyCheck = resource.bodyChecks?.[id];
  const target = ifMatchTarget(definition, operation);
  const isCached = isCacheable(operation, answerDefinition);
  server.route({
    method: operation.method,
    url: basePath + operation.path,
    ...(operation.bodyMax && { bodyLimit: operation.bodyMax.bytes }),
    config: {
      operation: id,
      isSigned: operation.isSigned,
      isPublic: operation.isPublic,
      tooLarge: operation.bodyMax?.sentence,
    },
    ...(bodyCheck !== undefined && {
      preParsing: async (request: FastifyRequest, reply: FastifyReply) => {
        if (!isLarge(request)) return;
        await bodyCheck({
          context: contextOf(request, reply, operation, mount),
          params: paramsOf(request.params as Record<string, string>),
        });
        largeBodies.acquire(reply);
      },
    }),
    handler: async (request, reply) => {
      const query = parseQuery(operation.query, parseQueryString(request.query as string));
      const body = operation.body === undefined ? undefined : parseBody(definition, operation.body, request.body);
      const asTable = operation.table !== undefined && wantsTable(request);
      const condition = target && requireIfMatch(mount.database, id, target, etagsIn(request.headers["if-match"]));
      const page = query["page"] as Page;
      const warnings: RuleMatch[] = [];
      const warn = operation.mayWarn && ((match: RuleMatch) => addWarning(warnings, match));
      const answering = { definition: answerDefinition, operation, page, url: pathOf(request.url), warnings };
      const handle = () =>
        handler({
          context: contextOf(request, reply, operation, mount, { ...condition, ...(warn && { warn }) }),
          params: paramsOf(request.params as Record<string, string>),
          body,
          query,
          asTable,
          lastEventId: request.headers["last-event-id"] as string | undefined,
        });
      if (isCached && !asTable) {
        const read = async () => serializeCacheable(mount.cache, request, answering, await handle());
        return sendSerialized(reply, await mount.cache.share(request, read));
      }
      const answer = await handle();
      if (operation.answer === "events") return sendEvents(reply, answer as EventsAnswer, mount.isStopping);
      if (asTable) return sendTable(reply, answer as CsvTable, mount.isStopping);
      return sendAnswer(reply, answering, answer);
    },
  });
}

/** Several changes of one request can match the same rule. */
function addWarning(warnings: RuleMatch[], match: RuleMatch): void {
  if (warnings.every(({ rule }) => rule.id !== match.rule.id)) warnings.push(match);
}

async function serializeCacheable(
  cache: ResponseCache,
  request: FastifyRequest,
  answering: AnswerContext,
  answered: unknown,
): Promise<SerializedResponse> {
  const answer = answered as DocumentAnswer<unknown> | ListAnswer<unknown>;
  const contentExpiresAtMs = contentExpiry(answering.definition, answer);
  const uncompressed = serializeAnswer(answering, answer);
  // A response that can't be cached may contain a credential, such as a signed URL, and is never compressed.
  const isCompressed = contentExpiresAtMs > nowMs() && acceptsGzip(request);
  const response = isCompressed ? await compressed(uncompressed) : uncompressed;
  const { validator, changesWith } = answer;
  cache.store(request, response, { validator, organizationId: changesWith, contentExpiresAtMs });
  return response;
}

/** In milliseconds: when the response expires by the clock; 0 if it must not be cached. */
function contentExpiry(definition: ResourceDefinition, answer: DocumentAnswer<unknown> | ListAnswer<unknown>): number {
  const shown = "views" in answer ? answer.views : [answer.view];
  let expiresAtMs = answer.until ?? Number.POSITIVE_INFINITY;
  const consider = ({ isUncacheable, changesAt }: ResourceDefinition, view: unknown) => {
    const at = isUncacheable ? 0 : changesAt?.(view);
    if (at != null) expiresAtMs = Math.min(expiresAtMs, new Date(at).getTime());
  };
  if (definition.changesAt !== undefined) for (const view of shown) consider(definition, view);
  for (const included of answer.included ?? []) consider(included.definition, included.view);
  return expiresAtMs;
}

const wantsTable = ({ headers }: FastifyRequest): boolean =>
  prefers(headers.accept, tableMediaType, [mediaType, "application/json"]);

const isCacheable = ({ method, answer, isSigned }: Operation, { isUncacheable }: ResourceDefinition): boolean =>
  method === "GET" && (answer === "document" || answer === "list") && !isSigned && !isUncacheable;

/** Throws `not-found` for agents and runs that call an operation that is not for them. */
function contextOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { isSigned, isPublic, callers }: Operation,
  mount: MountOptions,
  more?: Partial<Pick<Context, "database" | "ifMatch" | "warn">>,
): Context {
  const actor = isSigned || isPublic ? ({ kind: "anonymous" } as const) : request.caller?.actor;
  if (actor === undefined) throw new Error("a route was reached without authentication");
  requireAllowedCaller(actor, callers);
  const { database, options, vault, wake } = mount;
  return {
    actor,
    database,
    options,
    vault,
    ...more,
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
    isDisconnected: () => request.raw.socket.destroyed || mount.isStopping?.() === true,
    source: sourceOf(request),
    integration: integrationOf(request),
  };
}

const largeBodies = new LargeBodyLimiter(16);

function sourceOf(request: FastifyRequest): "tfe-api" | "terraform" {
  return /\b(Terraform|OpenTofu)\//i.test(request.headers["user-agent"] ?? "") ? "terraform" : "tfe-api";
}

function integrationOf({ headers }: FastifyRequest): "cloud" | "remote" | undefined {
  if (headers["x-terraform-integration"] === "cloud") return "cloud";
  return headers["terraform-version"] === undefined ? undefined : "remote";
}

const pathOf = (url: string): string => url.replace(/^[a-z]+:\/\/[^/?]*/i, "");

/** Without quotes; weak ETags never match. */
function etagsIn(header: string | undefined): string[] | undefined {
  if (header === undefined) return undefined;
  return header
    .split(",")
    .map((part) => part.trim())
    .map((part) => (part === "*" ? "*" : (/^"([^"]*)"$/.exec(part)?.[1] ?? "")))
    .filter((part) => part !== "");
}
