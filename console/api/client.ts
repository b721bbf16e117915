/** All requests of the console to the public API, with the session cookie, typed by the OpenAPI document. */
import { ApiError, problemsIn, SessionEnded, unreachable } from "./errors.ts";
import type { Operations, Resources, ResourceObject } from "./schema.gen.ts";
import { noteServerTime } from "../now.ts";

export type { Operations, Resources, ResourceObject };
export type ApiOperation = keyof Operations;
export type Resource<T extends keyof Resources> = ResourceObject<T>;
export type Attributes<T extends keyof Resources> = Resources[T]["attributes"];

export type OperationInput<O extends ApiOperation> = (Operations[O]["path"] extends undefined
  ? { readonly path?: undefined }
  : { readonly path: Operations[O]["path"] }) &
  (Operations[O]["body"] extends undefined
    ? { readonly body?: undefined }
    : { readonly body: Operations[O]["body"] }) & {
    readonly query?: Operations[O]["query"] | Readonly<Record<string, string | number | undefined>>;
    /** The server responds 412 if the version has changed. */
    readonly ifMatch?: string | undefined;
  };

export type OperationResponse<O extends ApiOperation> = Operations[O]["answer"] & {
  readonly etag?: string | undefined;
  readonly isHosted?: boolean;
};

export const mediaType = "application/vnd.api+json";
export const basePath = "/api/v2";

type Loose = {
  path?: Record<string, string | undefined> | undefined;
  query?: Record<string, string | number | undefined> | undefined;
  body?: unknown;
  ifMatch?: string | undefined;
};

export function addressOf<O extends ApiOperation>(operation: O, input: OperationInput<O>): string {
  const { path = {}, query = {} } = input as Loose;
  const template = operation.slice(operation.indexOf(" ") + 1);
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const parameters = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)])).toString();
  const from = template.startsWith("/oauth/") ? "" : basePath;
  return `${from}${filled}${search === "" ? "" : `?${search}`}`;
}

export const methodOf = (operation: ApiOperation): string => operation.slice(0, operation.indexOf(" "));

export async function call<O extends ApiOperation>(
  operation: O,
  input: OperationInput<O>,
  signal?: AbortSignal,
): Promise<OperationResponse<O>> {
  const { body, ifMatch } = input as Loose;
  if (isKnownSignedOut(operation)) throw new SessionEnded();
  const response = await fetch(addressOf(operation, input), {
    method: methodOf(operation),
    headers: {
      accept: mediaType,
      "content-type": mediaType,
      ...(ifMatch !== undefined && { "if-match": ifMatch }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  // Before the body: a slow body would count as clock skew.
  noteServerTime(response.headers.get("date"));
  const text = await response.text();
  if (response.status === 401 && (await isAboutSession(operation))) throw new SessionEnded();
  if (!response.ok) throw new ApiError(response.status, problemsIn(response, text), operation);
  const etag = response.headers.get("etag") ?? undefined;
  // Clients recognise HCP Terraform by this header.
  const isHosted = response.headers.has("tfp-appname");
  return { ...(text === "" ? {} : JSON.parse(text)), etag, isHosted };
}

const accountOperation = "GET /account/details";
const publicOperations = /^GET \/(sign-in-options|invitations\/|oauth\/)/;
let sessionCheck: Promise<boolean> | undefined;

/** Avoids requests that need a session and would be refused: browsers log every refusal. */
function isKnownSignedOut(operation: ApiOperation): boolean {
  const page = document.documentElement.dataset;
  if (methodOf(operation) !== "GET") page["session"] = "maybe";
  return page["session"] === "none" && !publicOperations.test(operation);
}

// The user may have signed in in another tab.
document.addEventListener("visibilitychange", () => {
  const page = document.documentElement.dataset;
  if (!document.hidden && page["session"] === "none") page["session"] = "maybe";
});

/** Organizations and sign-in also respond with 401, so a 401 alone doesn't mean an ended session. Concurrent callers share one check. */
export async function isAboutSession(operation?: ApiOperation): Promise<boolean> {
  if (operation === "POST /sessions") return false;
  if (operation === accountOperation) return true;
  sessionCheck ??= isSignedOut().finally(() => (sessionCheck = undefined));
  return sessionCheck;
}

async function isSignedOut(): Promise<boolean> {
  const headers = { accept: mediaType };
  const response = await fetch(addressOf(accountOperation, {}), { headers }).catch(() => undefined);
  // Until the body is read, the browser keeps the connection open.
  await response?.text().catch(() => undefined);
  return response?.status === 401;
}

export async function bytesAt(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(sameOrigin(address), signal ? { signal } : {}).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  if (!response.ok) throw new ApiError(response.status, problemsIn(response, await response.text()));
  return new Uint8Array(await response.arrayBuffer());
}

/** Documents use the server's public URL, which may differ from the page's. */
export function sameOrigin(address: string): string {
  const { pathname, search } = new URL(address, location.origin);
  return `${pathname}${search}`;
}

export function includedIn<T extends keyof Resources>(
  document: { readonly included?: readonly any[] | undefined } | undefined,
  type: T,
  id: string | undefined,
): Resource<T> | undefined {
  return document?.included?.find((one) => one.type === type && one.id === id);
}
