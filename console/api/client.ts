/** All requests of the console to the server: the public API, with the session's cookie, typed by its own description. */
import { ApiError, problemsIn, SessionEnded, unreachable } from "./errors.ts";
import type { Operations, Resources, Thing } from "./schema.gen.ts";
import { noteServerTime } from "../now.ts";

export type { Operations, Resources, Thing };
export type Operation = keyof Operations;
/** A resource as documents show it: `Resource<"workspaces">`. */
export type Resource<T extends keyof Resources> = Thing<T>;
export type Attributes<T extends keyof Resources> = Resources[T]["attributes"];

export type Input<O extends Operation> = (Operations[O]["path"] extends undefined
  ? { readonly path?: undefined }
  : { readonly path: Operations[O]["path"] }) &
  (Operations[O]["body"] extends undefined
    ? { readonly body?: undefined }
    : { readonly body: Operations[O]["body"] }) & {
    readonly query?: Operations[O]["query"] | Readonly<Record<string, string | number | undefined>>;
    /** The version that was seen: refused with 412 when it is another one now. */
    readonly ifMatch?: string | undefined;
  };

/** The document, the version that a later change can be bound to, and the edition of the server. */
export type Answer<O extends Operation> = Operations[O]["answer"] & {
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

/** `GET /workspaces/{workspace_id}` and its parameters as an address on this server. */
export function addressOf<O extends Operation>(operation: O, input: Input<O>): string {
  const { path = {}, query = {} } = input as Loose;
  const template = operation.slice(operation.indexOf(" ") + 1);
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name] ?? ""));
  const asked = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString();
  const from = template.startsWith("/oauth/") ? "" : basePath;
  return `${from}${filled}${search === "" ? "" : `?${search}`}`;
}

export const methodOf = (operation: Operation): string => operation.slice(0, operation.indexOf(" "));

export async function call<O extends Operation>(
  operation: O,
  input: Input<O>,
  signal?: AbortSignal,
): Promise<Answer<O>> {
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
  // Before the body is read: one that takes long would count as a difference of the clocks.
  noteServerTime(response.headers.get("date"));
  const text = await response.text();
  if (response.status === 401 && (await isAboutSession(operation))) throw new SessionEnded();
  if (!response.ok) throw new ApiError(response.status, problemsIn(response, text), operation);
  const etag = response.headers.get("etag") ?? undefined;
  // Clients of the hosted service know it by this header, and so do we.
  const isHosted = response.headers.has("tfp-appname");
  return { ...(text === "" ? {} : JSON.parse(text)), etag, isHosted };
}

const ofAccount = "GET /account/details";
const forEverybody = /^GET \/(sign-in-options|invitations\/|oauth\/)/;
let looking: Promise<boolean> | undefined;

/**
 * Whether the browser brought no session when it loaded this page, and nothing was sent since that could have begun one. All but what is
 * for everybody would only be refused, and browsers log every refusal.
 */
function isKnownSignedOut(operation: Operation): boolean {
  const page = document.documentElement.dataset;
  if (methodOf(operation) !== "GET") page["session"] = "maybe";
  return page["session"] === "none" && !forEverybody.test(operation);
}

// Somebody may have signed in in another tab meanwhile.
document.addEventListener("visibilitychange", () => {
  const page = document.documentElement.dataset;
  if (!document.hidden && page["session"] === "none") page["session"] = "maybe";
});

/**
 * Whether a 401 means that there is no session any more. An organization also refuses those who have signed in by a token that it does not
 * take, and signing in has errors of its own: these have sentences of their own. However many requests ask, one looks.
 */
export async function isAboutSession(operation?: Operation): Promise<boolean> {
  if (operation === "POST /sessions") return false;
  if (operation === ofAccount) return true;
  looking ??= isRefused().finally(() => (looking = undefined));
  return looking;
}

async function isRefused(): Promise<boolean> {
  const answer = await fetch(addressOf(ofAccount, {}), { headers: { accept: mediaType } }).catch(() => undefined);
  // Read to its end: until then the browser holds the connection.
  await answer?.text().catch(() => undefined);
  return answer?.status === 401;
}

/** What is not JSON:API: logs, states, plans. Addresses are those that documents name. */
export async function bytesAt(address: string, signal?: AbortSignal): Promise<Uint8Array> {
  const response = await fetch(sameOrigin(address), signal ? { signal } : {}).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw unreachable();
  });
  if (!response.ok) throw new ApiError(response.status, problemsIn(response, await response.text()));
  return new Uint8Array(await response.arrayBuffer());
}

/** Documents name the service by its public address; the page may have been reached by another. */
export function sameOrigin(address: string): string {
  const { pathname, search } = new URL(address, location.origin);
  return `${pathname}${search}`;
}

/** One of the `included` resources of a document, by what a relationship names. */
export function includedIn<T extends keyof Resources>(
  document: { readonly included?: readonly any[] | undefined } | undefined,
  type: T,
  id: string | undefined,
): Resource<T> | undefined {
  return document?.included?.find((one) => one.type === type && one.id === id);
}
