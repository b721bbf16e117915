/** A real service on a loopback port, and an HTTP client for it. */
import type { FastifyInstance } from "fastify";
import pino from "pino";
import { afterAll, beforeAll } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createVault } from "../../src/database/vault.ts";
import { createServer, type ServerOptions, urlOf } from "../../src/http/server.ts";
import { addToken } from "../../src/resources/identity/authentication-tokens/writes.ts";
import { requireAuditEvents } from "../../src/resources/shared/audit-events/required.ts";
import type { ServiceOptions } from "../../src/resources/shared/context.ts";
import { addUser } from "../../src/resources/identity/users/writes.ts";
import { operatorContext } from "../../src/service.ts";
import { type Builders, buildersOn } from "./builders.ts";
import type { ContentPlace } from "../../src/resources/shared/contents/content-place.ts";
import { placeOfRun } from "./content-places.ts";
import { exchange, type ReceivedHeaders } from "./client.ts";
import { borrowDatabase, empty, type Engine, type TestDatabase } from "./database.ts";

export const mediaType = "application/vnd.api+json";

export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  readonly body: Json;
}

export interface Caller {
  readonly token: string | undefined;
  get(path: string, headers?: Record<string, string>): Promise<Answer>;
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  patch(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  delete(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
}

export interface RunningApi {
  readonly url: string;
  readonly database: Database;
  /** The database as the server and its jobs use it: writes are committed only with their audit events. */
  readonly audited: Database;
  readonly address: string;
  readonly server: FastifyInstance;
  readonly admin: Caller;
  readonly nobody: Caller;
  /** Where contents are, if not in the database. */
  readonly contentPlace: ContentPlace | undefined;
  as(token: string | undefined): Caller;
  stop(): Promise<void>;
}

export type Api = RunningApi & Builders;

const adminToken = "test-admin-token-0123456789";

export interface ApiOptions extends Partial<Omit<ServerOptions, "database" | "options">> {
  readonly engine?: Engine;
  readonly options?: Partial<ServiceOptions>;
}

const defaultOptions: ServerOptions["options"] = {
  organizationCreation: "site-admins",
  edition: "self-hosted",
  globalRemoteStateDefault: false,
  // For the receivers of tests (`receiver.ts`).
  privateAddresses: ["127.0.0.1"],
};
const testVault = createVault(Buffer.alloc(32, 7));

export async function startApi({ engine, ...options }: ApiOptions = {}): Promise<Api> {
  const testDatabase = await borrowDatabase(engine);
  await addFirstAdmin(testDatabase.database);
  return startApiOn(testDatabase, options);
}

export async function startApiOn(
  testDatabase: TestDatabase,
  { options, ...rest }: Omit<ApiOptions, "engine"> = {},
): Promise<Api> {
  const { database, address } = testDatabase;
  const audited = requireAuditEvents(database);
  const contentPlace = options?.contentPlace ?? (await placeOfRun(database));
  const server = createServer({
    vault: testVault,
    version: "0.0.0-test",
    logger: pino({ level: "silent" }),
    rateLimit: 0,
    failures: { burst: 1_000_000, perSecond: 1_000 },
    // Only on close: a flush in between would be nondeterministic.
    flushEveryMs: 3_600_000,
    ...rest,
    options: { ...defaultOptions, ...options, contentPlace },
    database: audited,
  });
  // On a busy machine an idle connection would be closed just when a test uses it again.
  server.server.keepAliveTimeout = 0;
  await server.listen({ host: "127.0.0.1", port: 0 });
  const url = urlOf(server, rest);
  const as = (token: string | undefined) => callerOn(url, token);
  const served: RunningApi = {
    url,
    database,
    audited,
    address,
    server,
    admin: as(adminToken),
    nobody: as(undefined),
    contentPlace,
    as,
    stop: async () => {
      await server.close();
      contentPlace?.stop();
      await testDatabase.drop();
    },
  };
  return { ...served, ...buildersOn(served) };
}

/** Plain servers of earlier test files in this worker, emptied for reuse. */
const idleApis: Api[] = [];

export function useApi(options: ApiOptions = {}): Api {
  const isPlain = Object.keys(options).length === 0;
  let running: Api | undefined;
  beforeAll(async () => {
    running = (isPlain ? idleApis.pop() : undefined) ?? (await startApi(options));
  });
  afterAll(async () => {
    if (running !== undefined) await (isPlain ? reset(running) : running.stop());
  });
  return new Proxy({} as Api, {
    get: (_, name) => {
      if (running === undefined) throw new Error("the API is only available inside tests");
      return running[name as keyof Api];
    },
  });
}

/** Empties the server for the next test file. A test that stops the server, or changes more than rows, must start its own. */
async function reset(api: Api): Promise<void> {
  try {
    await empty(api.database);
    await addFirstAdmin(api.database);
    idleApis.push(api);
  } catch {
    await api.stop();
  }
}

export async function addFirstAdmin(database: Database): Promise<void> {
  const context = operatorContext(database, { organizationCreation: "site-admins" }, "test");
  await database.write(async (tx) => {
    const user = await addUser(tx, context, { username: "admin", email: "admin@localhost", isSiteAdmin: true });
    await addToken(tx, context, { holder: { kind: "user", userId: user.id }, isLegacy: false, secret: adminToken });
  });
}

export function callerOn(url: string, token: string | undefined): Caller {
  const send: Caller["send"] = async (method, path, body, headers = {}) => {
    const isEncoded = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    const text = isEncoded ? body : JSON.stringify(body);
    const isFullPath = path.startsWith("/api/") || path.startsWith("/.") || !path.startsWith("/");
    const answer = await exchange(url + (isFullPath ? path : `/api/v2${path}`), {
      method,
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(text !== undefined && { "content-type": mediaType }),
        ...headers,
      },
      body: text,
    });
    const { status, headers: received } = answer;
    return { status, headers: received, body: answer.text === "" ? undefined : parse(answer.text) };
  };
  return {
    token,
    send,
    get: (path, headers) => send("GET", path, undefined, headers),
    post: (path, body, headers) => send("POST", path, body, headers),
    patch: (path, body, headers) => send("PATCH", path, body, headers),
    delete: (path, body, headers) => send("DELETE", path, body, headers),
  };
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
