/**
 * The OpenID Connect client: authorization code flow with state, nonce and PKCE. Error messages must not reveal details of the protocol;
 * these go to the log.
 */
import * as oidc from "openid-client";
import { AppError } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { OutgoingFault, outgoingFetch } from "../../../outgoing/request.ts";
import type { Context } from "../../shared/context.ts";
import { type Claims, type Identity, identityOf, isIncomplete } from "./claims.ts";
import { callbackPath, ownCallbackPath } from "./definition.ts";
import type { Flow } from "./flow.ts";
import { secretOwner } from "./rules.ts";
import type { findProviderToAsk } from "./store.ts";

export type Provider = NonNullable<Awaited<ReturnType<typeof findProviderToAsk>>>;
type Asking = Pick<Context, "options" | "vault">;

/**
 * Protects against mix-up attacks: an organization's provider could forward the browser to the site's provider and capture its code. So it
 * must either return the `iss` parameter, which is checked before the code is sent to anyone, or use a callback path of its own. See
 * docs/decisions/0162-a-way-back-of-its-own.md.
 */
const hasOwnPlace = ({ organizationId }: Provider, configuration: oidc.Configuration): boolean =>
  organizationId !== null && configuration.serverMetadata().authorization_response_iss_parameter_supported !== true;

function callbackUrl({ options }: Asking, provider: Provider, configuration: oidc.Configuration): string {
  return `${options.publicUrl}${hasOwnPlace(provider, configuration) ? ownCallbackPath(provider.id) : callbackPath}`;
}

export async function authorizationUrl(context: Asking, provider: Provider, flow: Flow): Promise<URL> {
  const configuration = await configurationOf(context, provider);
  return oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: callbackUrl(context, provider, configuration),
    scope: provider.scopes,
    state: flow.state,
    nonce: flow.nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(flow.codeVerifier),
    code_challenge_method: "S256",
  });
}

export interface Returned {
  readonly identity: Identity;
  readonly signOutUrl: string | undefined;
}

/** `providerId` is the provider of the callback path; undefined for the shared path. */
export interface Brought {
  readonly query: string;
  readonly providerId: string | undefined;
}

/**
 * Undefined if the callback came to the wrong path. Uses the same metadata for both checks, because it can change at any time. Raises
 * `unauthorized`, `forbidden` or `unavailable`.
 */
export async function identityReturned(
  context: Asking,
  provider: Provider,
  flow: Flow,
  { query, providerId }: Brought,
): Promise<Returned | undefined> {
  const configuration = await configurationOf(context, provider);
  if (providerId !== (hasOwnPlace(provider, configuration) ? provider.id : undefined)) return undefined;
  return told(provider, async () => {
    const callback = new URL(`${callbackUrl(context, provider, configuration)}?${query}`);
    const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.codeVerifier,
      idTokenExpected: true,
    });
    const claims = (tokens.claims() ?? {}) as Claims;
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more =
      hasUserInfo && isIncomplete(claims, provider)
        ? await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims["sub"]))
        : {};
    return {
      identity: identityOf(provider, claims, more),
      signOutUrl: signOutUrl(context, configuration, tokens.id_token ?? ""),
    };
  });
}

function signOutUrl(context: Asking, configuration: oidc.Configuration, idToken: string): string | undefined {
  const { end_session_endpoint: endpoint } = configuration.serverMetadata();
  if (endpoint === undefined || !/^https?:\/\//.test(endpoint)) return undefined;
  return oidc.buildEndSessionUrl(configuration, {
    id_token_hint: idToken,
    post_logout_redirect_uri: `${context.options.publicUrl}/app/sign-in`,
  }).href;
}

interface Kept {
  readonly version: number;
  readonly found: Promise<oidc.Configuration>;
  readonly until: number;
}

const keptMs = 10 * 60_000;
const providersMax = 1000;
const timeoutSeconds = 10;
const clockToleranceSeconds = 60;
/** Provider metadata and signing keys. The key includes the issuer, because tests share a process. */
const kept = new Map<string, Kept>();

async function configurationOf(context: Asking, provider: Provider): Promise<oidc.Configuration> {
  const { id, version, issuer } = provider;
  const key = `${id} ${issuer}`;
  const cached = kept.get(key);
  if (cached !== undefined && cached.version === version && cached.until > nowMs()) return cached.found;
  if (kept.size >= providersMax) kept.clear();
  const found = discovered(context, provider).catch((error: unknown) => {
    throw error instanceof AppError ? error : unreachable(provider, error);
  });
  kept.set(key, { version, found, until: nowMs() + keptMs });
  // Failures are not cached.
  found.catch(() => kept.delete(key));
  return found;
}

async function discovered(context: Asking, provider: Provider): Promise<oidc.Configuration> {
  const { options, vault } = context;
  const { id, clientId, clientSecret, issuer } = provider;
  const secret = Buffer.from(vault.open(secretOwner(id), clientSecret)).toString("utf8");
  // Plain HTTP works only for addresses that the operator allows; `outgoingFetch` checks that.
  const plain = issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [];
  const found = await oidc.discovery(
    new URL(issuer),
    clientId,
    { [oidc.clockTolerance]: clockToleranceSeconds },
    // The authentication method is only known after discovery.
    (server, client, body, headers) =>
      takesBasic(server)
        ? oidc.ClientSecretBasic(secret)(server, client, body, headers)
        : oidc.ClientSecretPost(secret)(server, client, body, headers),
    {
      [oidc.customFetch]: outgoingFetch({ allowed: options.privateAddresses ?? [] }) as never,
      timeout: timeoutSeconds,
      // Checks the signature even though the token comes directly from the provider.
      execute: [oidc.enableNonRepudiationChecks, ...plain],
    },
  );
  if (found.serverMetadata().issuer !== issuer)
    throw new OutgoingFault(`${issuer} describes the issuer ${found.serverMetadata().issuer}.`);
  return found;
}

/** Basic authentication is the default if the provider lists no methods. */
const takesBasic = ({ token_endpoint_auth_methods_supported: methods }: oidc.ServerMetadata): boolean =>
  methods === undefined || methods.includes("client_secret_basic");

/** Logs why the protocol failed. The error message is for a person who wants to sign in. */
async function told<T>(provider: Provider, task: () => Promise<T>): Promise<T> {
  const { name } = provider;
  try {
    return await task();
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (hasCause(error, OutgoingFault)) throw unreachable(provider, error);
    if (error instanceof oidc.AuthorizationResponseError)
      throw new AppError(
        "unauthorized",
        `${name} rejected the sign-in (${codeIn(error)}). Try again, or ask its administrators.`,
        {
          internal: error,
        },
      );
    throw new AppError(
      "unauthorized",
      `The response of ${name} could not be verified. Try again; if the problem persists, ask a site admin to check the log.`,
      {
        internal: error,
      },
    );
  }
}

/** Also used if something answers that is not an OpenID Connect provider. */
const unreachable = ({ name }: Provider, internal: unknown): AppError =>
  new AppError("unavailable", `${name} can't be reached. Try again shortly, or ask a site admin to check the log.`, {
    internal,
    retryAfterSeconds: 10,
  });

/** The query can come from anyone, so only well-formed error codes are shown. */
const codeIn = ({ error }: oidc.AuthorizationResponseError): string =>
  /^[a-z_]{1,64}$/.test(error) ? error : "no reason given";

function hasCause(error: unknown, kind: typeof OutgoingFault): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1)
    if (cause instanceof kind) return true;
  return false;
}
