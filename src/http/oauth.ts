/** The OAuth endpoints of RFC 6749, 7636 and 8693: the redirect to the consent page, and the token endpoint. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { human, snake } from "../kernel/names.ts";
import { OauthError } from "../resources/identity/authentication-tokens/rules.ts";
import {
  type AuthorizationRequest,
  authorizationRequestFaults,
  authorizationRequestNames,
  loginClient,
} from "../resources/identity/authorizations/reads.ts";
import { redeemCode } from "../resources/identity/authorizations/writes.ts";
import { exchangeIdentity } from "../resources/identity/identity-trusts/writes.ts";
import type { Context } from "../resources/shared/context.ts";
import { escaped, sendPage } from "./pages.ts";
import { sendOauth, sendRedirect, withBadRequestStatus } from "./respond.ts";

export const authorizePath = "/oauth/authorize";
export const tokenPath = "/oauth/token";
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const formBytesMax = 64 * 1024;
const consentPath = "/app/~/authorize";

export interface OauthOptions {
  readonly contextOf: (request: FastifyRequest) => Context;
}

export function mountOauth(server: FastifyInstance, { contextOf }: OauthOptions): void {
  server.get(authorizePath, async (request, reply) => redirectToConsent(request, reply));
  void server.register(async (inner) => {
    inner.removeAllContentTypeParsers();
    inner.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: formBytesMax },
      (_request, body, done) => done(null, new URLSearchParams(String(body))),
    );
    inner.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: formBytesMax }, (_request, _body, done) =>
      done(null, undefined),
    );
    inner.post(tokenPath, async (request, reply) => {
      const context = contextOf(request);
      try {
        context.signIns?.check();
        const answer = await grantToken(context, fieldsOf(request.body), request.headers.authorization);
        return await sendOauth(reply, "answer", answer);
      } catch (error) {
        return refuse(request, reply, context, error);
      }
    });
  });
}

function redirectToConsent(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const query = new URLSearchParams((request.query as string | undefined) ?? "");
  const requested = Object.fromEntries(
    authorizationRequestNames.flatMap((name) => {
      const values = query.getAll(snake(name));
      return values.length === 1 && values[0] !== "" ? [[name, values[0]]] : [];
    }),
  ) as Partial<AuthorizationRequest>;
  const missing = authorizationRequestNames.filter((name) => requested[name] === undefined);
  const faults = [
    ...missing.map((name) => `${human(name)} must be sent, once`),
    ...authorizationRequestFaults(requested).map(({ sentence }) => sentence),
  ];
  if (faults.length > 0)
    return sendPage(withBadRequestStatus(reply), "Invalid authorization request", faultPage(faults));
  const named = authorizationRequestNames.map((name) => [snake(name), requested[name] ?? ""]);
  return sendRedirect(reply, `${consentPath}?${new URLSearchParams(named).toString()}`);
}

const faultPage = (faults: readonly string[]): string => `<h1>Invalid authorization request</h1>
<p>A program sent you here to request a token, but its request is not valid. No token was issued.</p>
<ul>
${faults.map((fault) => `<li>${escaped(fault)}.</li>\n`).join("")}</ul>
<p>Start again with <code>terraform login</code> or <code>tofu login</code>.</p>
`;

function refuse({ headers }: FastifyRequest, reply: FastifyReply, { signIns }: Context, error: unknown): FastifyReply {
  if (!(error instanceof OauthError)) throw error;
  if (error.code === "invalid_grant") signIns?.recordFailure();
  const isUnknownClient = error.code === "invalid_client" && headers.authorization !== undefined;
  const document = { error: error.code, error_description: error.message };
  return sendOauth(reply, isUnknownClient ? "unknownClient" : "refusal", document);
}

type FormField = (name: string) => string | undefined;

/** Throws OauthError for a body that is not a form and for repeated parameters. */
function fieldsOf(body: unknown): FormField {
  if (!(body instanceof URLSearchParams))
    throw new OauthError("invalid_request", "Send a form: Content-Type application/x-www-form-urlencoded.");
  return (name) => {
    const [value, ...others] = body.getAll(name);
    if (others.length > 0) throw new OauthError("invalid_request", `The parameter ${name} was sent more than once.`);
    if (value?.includes("\0")) throw new OauthError("invalid_request", `The parameter ${name} is not valid text.`);
    return value === "" ? undefined : value;
  };
}

/** Throws OauthError that names every missing parameter. */
function requiredFields<Name extends string>(field: FormField, names: readonly Name[]): Record<Name, string> {
  const found = names.map((name) => [name, field(name)] as const);
  const missing = found.flatMap(([name, value]) => (value === undefined ? [name] : []));
  if (missing.length > 0) throw new OauthError("invalid_request", `Missing: ${missing.join(", ")}.`);
  return Object.fromEntries(found) as Record<Name, string>;
}

async function grantToken(context: Context, field: FormField, authorization: string | undefined): Promise<object> {
  const grantType = field("grant_type");
  if (grantType === "authorization_code") return redeemCodeGrant(context, field, authorization);
  if (grantType === exchangeGrant) return exchangeTokenGrant(context, field);
  throw new OauthError("unsupported_grant_type", `The grant_type must be authorization_code or ${exchangeGrant}.`);
}

async function redeemCodeGrant(context: Context, field: FormField, authorization: string | undefined): Promise<object> {
  const clientId = clientIn(authorization) ?? field("client_id");
  const sent = requiredFields(
    (name) => (name === "client_id" ? clientId : field(name)),
    ["client_id", "code", "redirect_uri", "code_verifier"],
  );
  if (authorizationRequestFaults({ clientId: sent.client_id }).length > 0)
    throw new OauthError("invalid_client", "There is no such client. The only one is terraform-cli, without a secret.");
  const { token, expiresInSeconds } = await redeemCode(context, {
    code: sent.code,
    clientId: sent.client_id,
    redirectUri: sent.redirect_uri,
    verifier: sent.code_verifier,
  });
  return {
    access_token: token,
    token_type: "bearer",
    ...(expiresInSeconds !== undefined && { expires_in: expiresInSeconds }),
  };
}

/** Some clients send their id in the header, with an empty password. */
function clientIn(authorization: string | undefined): string | undefined {
  const sent = /^Basic +([\w+/=-]+)$/i.exec(authorization ?? "")?.[1];
  if (sent === undefined) return undefined;
  const [id, secret] = Buffer.from(sent, "base64").toString("utf8").split(":", 2);
  // The client has no secret, so a secret means another service.
  return secret ? `${id}:${secret}` : id;
}

async function exchangeTokenGrant(context: Context, field: FormField): Promise<object> {
  const { organization, subject_token: subjectToken } = requiredFields(field, ["organization", "subject_token"]);
  if (field("subject_token_type") !== jwtType)
    throw new OauthError("invalid_request", `The subject_token_type must be ${jwtType}.`);
  const trust = field("trust");
  const { token, expiresInSeconds } = await exchangeIdentity(context, { organization, subjectToken, trust });
  return {
    access_token: token,
    issued_token_type: accessTokenType,
    token_type: "Bearer",
    expires_in: expiresInSeconds,
  };
}

const described = (fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([name, description]) => [name, { type: "string", description }]));

const form = (title: string, fields: Record<string, string>, required: readonly string[]) => ({
  title,
  type: "object",
  properties: described(fields),
  required,
});

const query = (fields: Record<string, string>) =>
  Object.entries(fields).map(([name, description]) => ({
    name,
    in: "query",
    required: true,
    description,
    schema: { type: "string" },
  }));

const [firstPort, lastPort] = loginClient.ports;
const redirectDoc = `Where the program listens: \`http://localhost\` or \`http://127.0.0.1\` with a port from ${firstPort} to ${lastPort}.`;

const codeForm = form(
  "authorization_code",
  {
    grant_type: "authorization_code",
    client_id: `\`${loginClient.id}\`. Can be sent as the user name of HTTP basic authentication instead, with an empty password.`,
    code: "The code from the redirect.",
    redirect_uri: "The same redirect URI as in the authorization request.",
    code_verifier: "The verifier that the challenge was made from.",
  },
  ["grant_type", "code", "redirect_uri", "code_verifier"],
);

const exchangeForm = form(
  "token-exchange",
  {
    grant_type: exchangeGrant,
    subject_token: "The pipeline's token.",
    subject_token_type: jwtType,
    organization: "The organization's name.",
    trust: "The name of the identity trust, where several match.",
  },
  ["grant_type", "subject_token", "subject_token_type", "organization"],
);

const tokenAnswer = {
  type: "object",
  properties: {
    access_token: { type: "string", description: "The token." },
    token_type: { type: "string", description: "`bearer`, in any case." },
    expires_in: { type: "integer", description: "The lifetime in seconds; absent if the token never expires." },
    issued_token_type: { type: "string", description: "Only for a token exchange." },
  },
  required: ["access_token", "token_type"],
};

const refusal = {
  type: "object",
  properties: { error: { type: "string" }, error_description: { type: "string" } },
  required: ["error", "error_description"],
};

const asJson = (description: string, schema: object) => ({
  description,
  content: { "application/json": { schema } },
});

export const oauthPaths = {
  [authorizePath]: {
    get: {
      operationId: "askForConsent",
      tags: ["authorizations"],
      summary: "Request a token for a program: redirects the user's browser to the consent page (RFC 6749, with PKCE)",
      description: "Requires: nothing. No token is issued before a user has signed in and agreed.",
      security: [],
      parameters: query({
        client_id: `\`${loginClient.id}\``,
        redirect_uri: redirectDoc,
        response_type: "`code`",
        code_challenge: "The SHA-256 of the verifier, in base64url.",
        code_challenge_method: "`S256`",
        state: "Returned unchanged.",
      }),
      responses: {
        302: { description: "Redirects to the consent page." },
        400: {
          description:
            "A page that lists everything that is wrong. The browser is never redirected to an address that was not checked.",
        },
      },
    },
  },
  [tokenPath]: {
    post: {
      operationId: "exchangeToken",
      tags: ["authorizations", "identity-trusts"],
      summary:
        "Exchange a code for a token of the user who agreed (RFC 6749), or a pipeline's OpenID Connect token for a temporary team token (RFC 8693)",
      description:
        "Requires: a client with a code and its verifier, once; or a pipeline whose token matches one of the organization's identity-trusts.",
      security: [],
      requestBody: {
        required: true,
        content: { "application/x-www-form-urlencoded": { schema: { oneOf: [codeForm, exchangeForm] } } },
      },
      responses: {
        200: asJson("The token and its lifetime.", tokenAnswer),
        400: asJson("The request was refused. `error` and `error_description` say why.", refusal),
        401: asJson("The client in the Authorization header is unknown.", refusal),
        429: { $ref: "#/components/responses/429" },
        503: { $ref: "#/components/responses/503" },
      },
    },
  },
};
