/**
 * The protocol: OpenID Connect by the authorization code, with state, nonce and PKCE. Tokens are checked by the provider's own keys, and
 * everything is fetched the one way in which the service calls others. What goes wrong is told in a sentence without the inside, which
 * the log has.
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
 * An organization's provider could lead people on to the site's, and wait for the code that the site's gives. So it says its name on the
 * way back, which is then checked before a code is shown to anybody; or it has a place of its own to come back to.
 * See docs/decisions/0162-a-way-back-of-its-own.md.
 */
const hasOwnPlace = ({ organizationId }: Provider, configuration: oidc.Configuration): boolean =>
  organizationId !== null && configuration.serverMetadata().authorization_response_iss_parameter_supported !== true;

function callbackUrl({ options }: Asking, provider: Provider, configuration: oidc.Configuration): string {
  return `${options.publicUrl}${hasOwnPlace(provider, configuration) ? ownCallbackPath(provider.id) : callbackPath}`;
}

/** Where to send the browser. Raises `unavailable`. */
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
  /** Where to sign out at the provider; undefined where it offers no such place. */
  readonly signOutUrl: string | undefined;
}

/** What a browser brings back, and where to: the provider whose own place it is, or undefined for everybody's. */
export interface Brought {
  readonly query: string;
  readonly providerId: string | undefined;
}

/**
 * Who came back; undefined where that is not the place to come back to. Both go by one description of the provider: it may give another
 * a moment later. Raises `unauthorized`, `forbidden` or `unavailable`.
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
    const cameBackTo = new URL(`${callbackUrl(context, provider, configuration)}?${query}`);
    const tokens = await oidc.authorizationCodeGrant(configuration, cameBackTo, {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.codeVerifier,
      idTokenExpected: true,
    });
    const claims = (tokens.claims() ?? {}) as Claims;
    const hasMore = configuration.serverMetadata().userinfo_endpoint !== undefined;
    const more =
      hasMore && isIncomplete(claims, provider)
        ? await oidc.fetchUserInfo(configuration, tokens.access_token, String(claims["sub"]))
        : {};
    return {
      identity: identityOf(provider, claims, more),
      signOutUrl: signOutUrl(context, configuration, tokens.id_token ?? ""),
    };
  });
}

function signOutUrl(context: Asking, configuration: oidc.Configuration, idToken: string): string | undefined {
  const { end_session_endpoint: place } = configuration.serverMetadata();
  if (place === undefined || !/^https?:\/\//.test(place)) return undefined;
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
/** What was found of each provider: its addresses, and the keys that it signs with. By its issuer too, because tests share a process. */
const kept = new Map<string, Kept>();

async function configurationOf(context: Asking, provider: Provider): Promise<oidc.Configuration> {
  const { id, version, issuer } = provider;
  const key = `${id} ${issuer}`;
  const known = kept.get(key);
  if (known !== undefined && known.version === version && known.until > nowMs()) return known.found;
  if (kept.size >= providersMax) kept.clear();
  const found = discovered(context, provider).catch((error: unknown) => {
    throw error instanceof AppError ? error : unreachable(provider, error);
  });
  kept.set(key, { version, found, until: nowMs() + keptMs });
  // What failed is not kept.
  found.catch(() => kept.delete(key));
  return found;
}

async function discovered(context: Asking, provider: Provider): Promise<oidc.Configuration> {
  const { options, vault } = context;
  const { id, clientId, clientSecret, issuer } = provider;
  const secret = Buffer.from(vault.open(secretOwner(id), clientSecret)).toString("utf8");
  // Without TLS only where the operator has named the address, which the way out sees to.
  const plain = issuer.startsWith("http:") ? [oidc.allowInsecureRequests] : [];
  const found = await oidc.discovery(
    new URL(issuer),
    clientId,
    { [oidc.clockTolerance]: clockToleranceSeconds },
    // Not known before the provider says what it takes.
    (server, client, body, headers) =>
      takesBasic(server)
        ? oidc.ClientSecretBasic(secret)(server, client, body, headers)
        : oidc.ClientSecretPost(secret)(server, client, body, headers),
    {
      [oidc.customFetch]: outgoingFetch({ allowed: options.privateAddresses ?? [] }) as never,
      timeout: timeoutSeconds,
      // The token comes straight from the provider, but what it says is believed for its signature alone.
      execute: [oidc.enableNonRepudiationChecks, ...plain],
    },
  );
  if (found.serverMetadata().issuer !== issuer)
    throw new OutgoingFault(`${issuer} describes the issuer ${found.serverMetadata().issuer}.`);
  return found;
}

/** What a provider that says nothing takes, too. */
const takesBasic = ({ token_endpoint_auth_methods_supported: methods }: oidc.ServerMetadata): boolean =>
  methods === undefined || methods.includes("client_secret_basic");

/** Only the log is told how the protocol failed: the sentence is for somebody who just wants to sign in. */
async function told<T>(provider: Provider, work: () => Promise<T>): Promise<T> {
  const { name } = provider;
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    if (hasCause(error, OutgoingFault)) throw unreachable(provider, error);
    if (error instanceof oidc.AuthorizationResponseError)
      throw new AppError(
        "unauthorized",
        `${name} did not let you in (${codeIn(error)}). Begin again, or ask its administrators.`,
        {
          internal: error,
        },
      );
    throw new AppError(
      "unauthorized",
      `What ${name} says of you could not be verified. Begin again; if it happens again, ask a site admin to look into the log.`,
      {
        internal: error,
      },
    );
  }
}

/** Also where somebody answers who is no such provider: nothing was said of anybody yet that could be wrong. */
const unreachable = ({ name }: Provider, internal: unknown): AppError =>
  new AppError(
    "unavailable",
    `${name} can't be reached. Try again shortly, or ask a site admin to look into the log.`,
    { internal, retryAfterSeconds: 10 },
  );

/** Anybody can write a query, so only what looks like a code is repeated. */
const codeIn = ({ error }: oidc.AuthorizationResponseError): string =>
  /^[a-z_]{1,64}$/.test(error) ? error : "without a reason";

function hasCause(error: unknown, kind: typeof OutgoingFault): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof kind) return true;
  return false;
}
