/** The OpenID Connect client: code flow with state, nonce and PKCE. Errors must not reveal protocol details; these go to the log. */
import * as oidc from "openid-client";
import { AppError } from "../../../kernel/errors.ts";
import { nowMs } from "../../../kernel/time.ts";
import { OutgoingError, outgoingFetch } from "../../../outgoing/request.ts";
import type { Context } from "../../shared/context.ts";
import { type IdTokenClaims, type SsoIdentity, identityOf, needsUserInfo } from "./claims.ts";
import { callbackPath, ownCallbackPath } from "./definition.ts";
import type { SsoFlow } from "./flow.ts";
import { secretOwner } from "./rules.ts";
import type { findProviderWithSecret } from "./store.ts";

export type SsoProviderWithSecret = NonNullable<Awaited<ReturnType<typeof findProviderWithSecret>>>;
type RelyingPartyContext = Pick<Context, "options" | "vault">;

/** Prevents mix-up attacks. See docs/decisions/0162-separate-callback-for-organization-providers.md. */
const usesOwnCallback = ({ organizationId }: SsoProviderWithSecret, configuration: oidc.Configuration): boolean =>
  organizationId !== null && configuration.serverMetadata().authorization_response_iss_parameter_supported !== true;

function callbackUrl(
  { options }: RelyingPartyContext,
  provider: SsoProviderWithSecret,
  configuration: oidc.Configuration,
): string {
  return `${options.publicUrl}${usesOwnCallback(provider, configuration) ? ownCallbackPath(provider.id) : callbackPath}`;
}

export async function authorizationUrl(
  context: RelyingPartyContext,
  provider: SsoProviderWithSecret,
  flow: SsoFlow,
): Promise<URL> {
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

export interface SsoSignInResult {
  readonly identity: SsoIdentity;
  readonly signOutUrl: string | undefined;
}

export interface CallbackRequest {
  readonly query: string;
  readonly providerId: string | undefined;
}

/** Undefined if the callback came to the wrong path. Throws `unauthorized`, `forbidden` or `unavailable`. */
export async function identityFromCallback(
  context: RelyingPartyContext,
  provider: SsoProviderWithSecret,
  flow: SsoFlow,
  { query, providerId }: CallbackRequest,
): Promise<SsoSignInResult | undefined> {
  const configuration = await configurationOf(context, provider);
  if (providerId !== (usesOwnCallback(provider, configuration) ? provider.id : undefined)) return undefined;
  return withSignInErrors(provider, async () => {
    const callback = new URL(`${callbackUrl(context, provider, configuration)}?${query}`);
    const tokens = await oidc.authorizationCodeGrant(configuration, callback, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.codeVerifier,
      idTokenExpected: true,
    });
    const claims = (tokens.claims() ?? {}) as IdTokenClaims;
    const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const userInfo =
      hasUserInfo && needsUserInfo(claims, provider)
        ? await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims["sub"]))
        : {};
    return {
      identity: identityOf(provider, claims, userInfo),
      signOutUrl: signOutUrl(context, configuration, tokens.id_token ?? ""),
    };
  });
}

function signOutUrl(
  context: RelyingPartyContext,
  configuration: oidc.Configuration,
  idToken: string,
): string | undefined {
  const { end_session_endpoint: endpoint } = configuration.serverMetadata();
  if (endpoint === undefined || !/^https?:\/\//.test(endpoint)) return undefined;
  return oidc.buildEndSessionUrl(configuration, {
    id_token_hint: idToken,
    post_logout_redirect_uri: `${context.options.publicUrl}/app/sign-in`,
  }).href;
}

interface CachedConfiguration {
  readonly version: number;
  readonly configuration: Promise<oidc.Configuration>;
  readonly until: number;
}

const cacheMs = 10 * 60_000;
const providersMax = 1000;
const timeoutSeconds = 10;
const clockToleranceSeconds = 60;
/** Keyed by issuer too, because tests share a process. */
const configurations = new Map<string, CachedConfiguration>();

async function configurationOf(
  context: RelyingPartyContext,
  provider: SsoProviderWithSecret,
): Promise<oidc.Configuration> {
  const { id, version, issuer } = provider;
  const key = `${id} ${issuer}`;
  const cached = configurations.get(key);
  if (cached !== undefined && cached.version === version && cached.until > nowMs()) return cached.configuration;
  if (configurations.size >= providersMax) configurations.clear();
  const found = discover(context, provider).catch((error: unknown) => {
    throw error instanceof AppError ? error : unreachable(provider, error);
  });
  configurations.set(key, { version, configuration: found, until: nowMs() + cacheMs });
  found.catch(() => configurations.delete(key));
  return found;
}

async function discover(context: RelyingPartyContext, provider: SsoProviderWithSecret): Promise<oidc.Configuration> {
  const { options, vault } = context;
  const { id, clientId, clientSecret, issuer } = provider;
  const secret = Buffer.from(vault.open(secretOwner(id), clientSecret)).toString("utf8");
  // `outgoingFetch` allows plain HTTP only for addresses that the operator allows.
  const plain = issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [];
  const found = await oidc.discovery(
    new URL(issuer),
    clientId,
    { [oidc.clockTolerance]: clockToleranceSeconds },
    // Only discovery reveals the authentication method.
    (server, client, body, headers) =>
      acceptsBasicAuth(server)
        ? oidc.ClientSecretBasic(secret)(server, client, body, headers)
        : oidc.ClientSecretPost(secret)(server, client, body, headers),
    {
      [oidc.customFetch]: outgoingFetch({ allowed: options.privateAddresses ?? [] }) as never,
      timeout: timeoutSeconds,
      // Verifies the signature even though the token comes directly from the provider.
      execute: [oidc.enableNonRepudiationChecks, ...plain],
    },
  );
  if (found.serverMetadata().issuer !== issuer)
    throw new OutgoingError(`${issuer} describes the issuer ${found.serverMetadata().issuer}.`);
  return found;
}

const acceptsBasicAuth = ({ token_endpoint_auth_methods_supported: methods }: oidc.ServerMetadata): boolean =>
  methods === undefined || methods.includes("client_secret_basic");

async function withSignInErrors<T>(provider: SsoProviderWithSecret, task: () => Promise<T>): Promise<T> {
  const { name } = provider;
  try {
    return await task();
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (hasCause(error, OutgoingError)) throw unreachable(provider, error);
    if (error instanceof oidc.AuthorizationResponseError)
      throw new AppError(
        "unauthorized",
        `${name} rejected the sign-in (${errorCodeOf(error)}). Try again, or ask its administrators.`,
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

const unreachable = ({ name }: SsoProviderWithSecret, internal: unknown): AppError =>
  new AppError("unavailable", `${name} can't be reached. Try again shortly, or ask a site admin to check the log.`, {
    internal,
    retryAfterSeconds: 10,
  });

/** Anyone can send the query, so only well-formed error codes are shown. */
const errorCodeOf = ({ error }: oidc.AuthorizationResponseError): string =>
  /^[a-z_]{1,64}$/.test(error) ? error : "no reason given";

function hasCause(error: unknown, kind: typeof OutgoingError): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1)
    if (cause instanceof kind) return true;
  return false;
}
