/** Builds the HTTP server, with the hooks that every request and response passes. */
import type { AddressInfo } from "node:net";
import fastify, {
  LogController,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyRequest,
} from "fastify";
import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import type { Vault } from "../database/vault.ts";
import { openApi } from "../jsonapi/openapi.ts";
import { verifyResources } from "../jsonapi/verify.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { loopbackOf } from "../kernel/settings.ts";
import { unimplementedTypes, hooks, resources } from "../resources/index.ts";
import type { Context, ServiceOptions } from "../resources/shared/context.ts";
import { Authenticator, type AuthenticatorOptions } from "./authenticate.ts";
import { acceptBodies, bodyBytesMax, limitSlowBodies } from "./body.ts";
import { identityPaths, mountDiscovery, mountIdentity } from "./discovery.ts";
import { refuseForeignPages } from "./browser.ts";
import { consoleRoutes, mountConsole, type ServedConsole } from "./console.ts";
import { mountFastPath } from "./fast-path.ts";
import { mountFrontPage } from "./pages.ts";
import { type ResponseHeaders, headersFor, newRequestId } from "./headers.ts";
import { mountHealth, refuseWhileStarting } from "./health.ts";
import { ResponseCache } from "./response-cache.ts";
import { logRequests, requestLog, serializers } from "./log.ts";
import { mountMetrics } from "./metrics.ts";
import { mountResources } from "./mount.ts";
import { authorizePath, mountOauth, oauthPaths, tokenPath } from "./oauth.ts";
import { mountSso, sendRefusal, ssoPaths, ssoRoutes } from "./sso.ts";
import { refuseBrokenRequests, refuseUnsupportedRequests, refuseWithoutHost, unsupportedAt } from "./refusals.ts";
import { mountWebhooks, webhookPath, webhookPaths } from "./webhooks.ts";
import { basePath, httpMapping, sendError, sendCached, sendJson, type SerializedResponse } from "./respond.ts";

export interface ServerOptions extends AuthenticatorOptions {
  readonly database: Database;
  readonly options: Omit<ServiceOptions, "publicUrl"> & { readonly publicUrl?: string | undefined };
  readonly vault: Vault;
  readonly wake?: Context["wake"];
  readonly version: string;
  readonly logger: FastifyBaseLogger;
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly trustedProxies?: readonly string[] | undefined;
  readonly metricsToken?: string | undefined;
  readonly isStarting?: () => boolean;
  readonly isDraining?: () => boolean;
  /** `bodyTimeoutMs` does not limit streamed bodies. */
  readonly headersTimeoutMs?: number;
  readonly bodyTimeoutMs?: number;
  readonly cacheBytes?: number;
  readonly console?: ServedConsole | undefined;
}

const defaultCacheBytes = 64 * 2 ** 20;
const defaultHeadersTimeoutMs = 60_000;

/** No token needed, or the route authenticates the caller. Every other API path needs a token, even if no route matches. */
const publicRoutes = new Set([
  "/",
  `${basePath}/ping`,
  "/.well-known/terraform.json",
  ...Object.values<string>(identityPaths),
  "/healthz",
  "/readyz",
  "/metrics",
  authorizePath,
  tokenPath,
  ...Object.values<string>(ssoRoutes),
  ...consoleRoutes,
  webhookPath,
]);

/** Uses the matched route, because a path can be spelled in many ways. */
function needsToken(request: FastifyRequest): boolean {
  const { url: route, config } = request.routeOptions;
  if (config.isSigned || config.isPublic) return false;
  return route === undefined ? request.url.startsWith("/api") : !publicRoutes.has(route);
}

export function createServer(settings: ServerOptions): FastifyInstance {
  verifyResources(resources, unimplementedTypes);
  const isDraining = settings.isDraining ?? (() => false);
  const { edition, publicUrl } = settings.options;
  const headers = headersFor({ rateLimit: settings.rateLimit, edition, publicUrl, isDraining });
  const server = newServer(settings, headers.byName);
  const authenticator = new Authenticator(settings.database, settings);
  const cache = new ResponseCache(settings.cacheBytes ?? defaultCacheBytes, settings.database, authenticator);
  const options = withPublicUrl(server, settings);
  let stopping = false;

  acceptBodies(server);
  server.decorateRequest("caller", undefined);
  server.decorateRequest("allowance", undefined);
  answerErrors(server);
  const log = requestLog(server.log as Logger);
  logRequests(server, log);
  authenticateRequests(server, {
    isStarting: settings.isStarting,
    cache,
    headers,
    publicUrl: () => options.publicUrl,
    bodyTimeoutMs: settings.bodyTimeoutMs,
  });
  server.addHook("preClose", async () => {
    stopping = true;
  });
  server.addHook("onClose", () => authenticator.close());

  refuseUnsupportedRequests(server.server, headers.byName);
  mountDiscovery(server);
  mountHealth(server, settings.database, {
    isStarting: settings.isStarting ?? (() => false),
    isStopping: () => stopping || isDraining(),
    contentPlace: options.contentPlace,
  });
  const { database, metricsToken, trustedProxies, version } = settings;
  const metrics = mountMetrics(server, { database, authenticator, metricsToken, cache, version });
  mountFastPath(server.server, { cache, headers, log, metrics, trustedProxies, isStopping: () => stopping });
  mountIdentity(server, { ...settings, publicUrl: () => options.publicUrl });
  mountPages(server, settings, () => options.publicUrl);
  const contextOf = anonymousContext(settings, options, authenticator);
  mountOauth(server, { contextOf });
  mountSso(server, { contextOf, publicUrl: () => options.publicUrl });
  mountWebhooks(server, { contextOf });
  mountResources(server, resources, {
    ...settings,
    options,
    cache,
    signInsFrom: (address) => authenticator.signInsFrom(address),
    isStopping: () => stopping,
  });
  mountDescription(server, settings.version);
  return server;
}

function answerErrors(server: FastifyInstance): void {
  server.setErrorHandler((error, request, reply) => {
    const translated = translate(error as FastifyError, request.routeOptions.config.tooLarge);
    const log = (level: "error" | "info", err: unknown) =>
      server.log[level]({ reqId: request.id, err }, "request failed");
    if (!(translated instanceof AppError)) log("error", translated);
    // A client's own fault, such as closing the connection early, is not an error of the service.
    else if (translated.internal !== undefined)
      log(["unavailable", "internal"].includes(translated.code) ? "error" : "info", translated.internal);
    return request.routeOptions.config.isPage ? sendRefusal(request, reply, translated) : sendError(reply, translated);
  });
  server.setNotFoundHandler(({ url }, reply) => sendError(reply, unsupportedAt(url) ?? notFound("path")));
}

function mountPages(server: FastifyInstance, { console }: ServerOptions, publicUrl: () => string): void {
  mountFrontPage(server, { publicUrl, hasConsole: console !== undefined });
  mountConsole(server, console);
}

function anonymousContext(
  { database, vault, wake }: ServerOptions,
  options: ServiceOptions,
  authenticator: Authenticator,
): (request: FastifyRequest) => Context {
  return ({ id, ip }) => ({
    actor: { kind: "anonymous" },
    database,
    vault,
    options,
    hooks,
    requestId: id,
    address: ip,
    signIns: authenticator.signInsFrom(ip),
    ...(wake && { wake }),
  });
}

interface RequestHookOptions {
  readonly isStarting: ServerOptions["isStarting"];
  readonly cache: ResponseCache;
  readonly headers: ResponseHeaders;
  readonly publicUrl: () => string;
  readonly bodyTimeoutMs: number | undefined;
}

function authenticateRequests(server: FastifyInstance, options: RequestHookOptions): void {
  const { isStarting, cache, headers, publicUrl, bodyTimeoutMs } = options;
  server.addHook("onRequest", (request, reply, done) => {
    const proceed = (error?: Error) => {
      reply.headers(headers.byName(request.id, request.allowance));
      done(error);
    };
    try {
      refuseWithoutHost(request.raw);
      if (isStarting?.() === true) refuseWhileStarting(request.routeOptions.url);
      limitSlowBodies(request, bodyTimeoutMs);
      refuseForeignPages(request, publicUrl, request.routeOptions.config.isPublic);
      if (!needsToken(request)) return proceed();
      const sendFresh = (cached: SerializedResponse) => {
        reply.hijack();
        sendCached(reply.raw, cached, headers.flat(request.id, request.allowance));
      };
      cache.authenticate(request).then((cached) => (cached === undefined ? proceed() : sendFresh(cached)), proceed);
    } catch (error) {
      proceed(error as Error);
    }
  });
}

export function urlOf(server: FastifyInstance, { tls }: Pick<ServerOptions, "tls">): string {
  const { address, port, family } = server.server.address() as AddressInfo;
  const host = loopbackOf(address);
  return `${tls === undefined ? "http" : "https"}://${family === "IPv6" ? `[${host}]` : host}:${port}`;
}

/** Read on first use, because the listening address is known only after `listen`. */
function withPublicUrl(server: FastifyInstance, settings: ServerOptions): ServiceOptions {
  const { publicUrl: configured, ...others } = settings.options;
  let known = configured;
  return {
    ...others,
    get publicUrl() {
      known ??= urlOf(server, settings);
      return known;
    },
  };
}

function newServer(settings: ServerOptions, headersOf: ResponseHeaders["byName"]): FastifyInstance {
  const headersTimeout = settings.headersTimeoutMs ?? defaultHeadersTimeoutMs;
  const parsing = { requireHostHeader: false, headersTimeout, connectionsCheckingInterval: headersTimeout / 4 };
  return fastify({
    loggerInstance: settings.logger.child({}, { serializers }),
    // `logRequests` logs requests; a child logger per request would cost more than the line.
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    ...(settings.tls ? { https: { ...settings.tls, ...parsing } } : { http: parsing }),
    clientErrorHandler: refuseBrokenRequests(headersOf),
    ...(settings.trustedProxies && { trustProxy: [...settings.trustedProxies] }),
    bodyLimit: bodyBytesMax,
    genReqId: newRequestId,
    // A large state over a slow connection takes long; `limitSlowBodies` bounds every other request.
    requestTimeout: 0,
    forceCloseConnections: "idle",
    return503OnClosing: false,
    routerOptions: {
      // The router must not throw; `mount.ts` parses the query, where an error can be answered.
      querystringParser: ((text: string) => text) as never,
      maxParamLength: 512,
      ignoreTrailingSlash: true,
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOf(request.id));
      sendError(reply as never, translate(error));
    },
  }) as unknown as FastifyInstance;
}

function mountDescription(server: FastifyInstance, version: string): void {
  let description: object | undefined;
  server.get(`${basePath}/openapi.json`, async (_request, reply) => {
    description ??= describeApi(version);
    return sendJson(reply, description, "application/json");
  });
}

export function describeApi(version: string): object {
  return openApi(
    {
      title: "Cadastre",
      version,
      description:
        "A self-hosted control plane for Terraform and OpenTofu: projects, workspaces, runs, state, and who has access to them.",
    },
    resources,
    httpMapping,
    { ...oauthPaths, ...ssoPaths, ...webhookPaths },
  );
}

function translate(
  error: FastifyError,
  tooLarge = `The body is larger than ${bodyBytesMax} bytes. Send a smaller body.`,
): unknown {
  if (error instanceof AppError) return error;
  switch (error.code) {
    case "FST_ERR_CTP_BODY_TOO_LARGE":
      return new AppError("too-large", tooLarge);
    case "FST_ERR_CTP_INVALID_MEDIA_TYPE":
    case "FST_ERR_CTP_INVALID_CONTENT_LENGTH":
      return new AppError("bad-request", "The body does not match its Content-Type or Content-Length header.");
    case "FST_ERR_BAD_URL":
      return new AppError("bad-request", "The path is not valid percent-encoded UTF-8.");
    case "ERR_STREAM_PREMATURE_CLOSE":
      return new AppError("bad-request", "The response was interrupted.", { internal: error });
    case "FST_ERR_MAX_PARAM_LENGTH":
      return notFound("resource");
    default:
      return error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500
        ? new AppError("bad-request", "The request is invalid. Check its method, path, headers and body.", {
            internal: error,
          })
        : error;
  }
}
