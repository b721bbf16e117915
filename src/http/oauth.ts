/** The endpoint of tokens, as RFC 6749 and RFC 8693 have it: forms in, and JSON out that is no JSON:API. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { exchangeIdentity, ExchangeFault } from "../resources/identity/identity-trusts/writes.ts";
import type { Context } from "../resources/shared/context.ts";
import { sendOauth } from "./respond.ts";

export const tokenPath = "/oauth/token";
const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
const jwtType = "urn:ietf:params:oauth:token-type:jwt";
const accessTokenType = "urn:ietf:params:oauth:token-type:access_token";
const formBytesMax = 64 * 1024;

export interface OauthOptions {
  /** As whoever is nobody yet. */
  readonly contextOf: (request: FastifyRequest) => Context;
}

export function mountOauth(server: FastifyInstance, { contextOf }: OauthOptions): void {
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
        const answer = await exchanged(context, fieldsOf(request.body));
        return await sendOauth(reply, "answer", answer);
      } catch (error) {
        return refuse(reply, context, error);
      }
    });
  });
}

function refuse(reply: FastifyReply, { signIns }: Context, error: unknown): FastifyReply {
  if (!(error instanceof ExchangeFault)) throw error;
  if (error.code === "invalid_grant") signIns?.failed();
  return sendOauth(reply, "refusal", { error: error.code, error_description: error.message });
}

/** Raises ExchangeFault for what was sent twice, or in no form. */
function fieldsOf(body: unknown): (name: string) => string | undefined {
  if (!(body instanceof URLSearchParams))
    throw new ExchangeFault("invalid_request", "Send a form: Content-Type application/x-www-form-urlencoded.");
  return (name) => {
    const [value, ...others] = body.getAll(name);
    if (others.length > 0) throw new ExchangeFault("invalid_request", `The parameter ${name} was sent more than once.`);
    return value === "" ? undefined : value;
  };
}

/** Raises ExchangeFault. */
async function exchanged(context: Context, field: (name: string) => string | undefined): Promise<object> {
  const grantType = field("grant_type");
  if (grantType !== exchangeGrant)
    throw new ExchangeFault("unsupported_grant_type", `The grant_type must be ${exchangeGrant}.`);
  const [organization, subjectToken] = [field("organization"), field("subject_token")];
  const missing = [
    ...(organization === undefined ? ["organization"] : []),
    ...(subjectToken === undefined ? ["subject_token"] : []),
  ];
  if (organization === undefined || subjectToken === undefined)
    throw new ExchangeFault("invalid_request", `Missing: ${missing.join(", ")}.`);
  if (field("subject_token_type") !== jwtType)
    throw new ExchangeFault("invalid_request", `The subject_token_type must be ${jwtType}.`);
  const { token, expiresInSeconds } = await exchangeIdentity(context, {
    organization,
    subjectToken,
    trust: field("trust"),
  });
  return {
    access_token: token,
    issued_token_type: accessTokenType,
    token_type: "Bearer",
    expires_in: expiresInSeconds,
  };
}

const form = (fields: Record<string, string>, required: readonly string[]) => ({
  required: true,
  content: {
    "application/x-www-form-urlencoded": {
      schema: {
        type: "object",
        properties: Object.fromEntries(
          Object.entries(fields).map(([name, description]) => [name, { type: "string", description }]),
        ),
        required,
      },
    },
  },
});

/** For the OpenAPI document. */
export const oauthPaths = {
  [tokenPath]: {
    post: {
      operationId: "exchangeToken",
      tags: ["identity-trusts"],
      summary: "Exchange a pipeline's own OpenID Connect token for a team's token, for a while (RFC 8693)",
      description: "Who may: whoever shows a token that one of the organization's identity-trusts fits.",
      security: [],
      requestBody: form(
        {
          grant_type: exchangeGrant,
          subject_token: "The pipeline's token.",
          subject_token_type: jwtType,
          organization: "The organization's name.",
          trust: "The trust's name, where several fit.",
        },
        ["grant_type", "subject_token", "subject_token_type", "organization"],
      ),
      responses: {
        200: { description: "The team's token, `access_token`, and for how many seconds it works, `expires_in`." },
        400: { description: "Refused: `error` and `error_description` say why." },
        429: { $ref: "#/components/responses/429" },
        503: { $ref: "#/components/responses/503" },
      },
    },
  },
};
