/** Where the endpoints of OAuth are, and how the OpenAPI document tells of them. */
import { loginClient } from "../resources/identity/authorizations/reads.ts";

export const authorizePath = "/oauth/authorize";
export const tokenPath = "/oauth/token";
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange";
export const jwtType = "urn:ietf:params:oauth:token-type:jwt";

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

const [first, last] = loginClient.ports;
const waiting = `Where the program waits: \`http://localhost\` or \`http://127.0.0.1\` with a port from ${first} to ${last}.`;

const codeForm = form(
  "authorization_code",
  {
    grant_type: "authorization_code",
    client_id: `\`${loginClient.id}\`; or as the name of HTTP's basic authentication, with an empty password.`,
    code: "The code that the browser brought.",
    redirect_uri: "The same as before.",
    code_verifier: "What the challenge was made of.",
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
    trust: "The trust's name, where several fit.",
  },
  ["grant_type", "subject_token", "subject_token_type", "organization"],
);

const tokenAnswer = {
  type: "object",
  properties: {
    access_token: { type: "string", description: "The token." },
    token_type: { type: "string", description: "`bearer`, in whatever case." },
    expires_in: { type: "integer", description: "For how many seconds it works; absent where it never ends." },
    issued_token_type: { type: "string", description: "Of an exchange." },
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

/** For the OpenAPI document. */
export const oauthPaths = {
  [authorizePath]: {
    get: {
      operationId: "askForConsent",
      tags: ["authorizations"],
      summary:
        "Where a program sends its user's browser to get a token: leads on to the page that asks (RFC 6749, with PKCE)",
      description: "Who may: everybody; nothing is given before somebody has signed in and agreed.",
      security: [],
      parameters: query({
        client_id: `\`${loginClient.id}\``,
        redirect_uri: waiting,
        response_type: "`code`",
        code_challenge: "The SHA-256 of the verifier, in base64url.",
        code_challenge_method: "`S256`",
        state: "Sent back as it is.",
      }),
      responses: {
        302: { description: "To the page on which the person agrees, or does not." },
        400: {
          description: "A page that says everything that is wrong. Nobody is sent to an address that was not checked.",
        },
      },
    },
  },
  [tokenPath]: {
    post: {
      operationId: "exchangeToken",
      tags: ["authorizations", "identity-trusts"],
      summary:
        "Exchange a code for a token of the user who agreed (RFC 6749), or a pipeline's own OpenID Connect token for a team's, for a while (RFC 8693)",
      description:
        "Who may: whoever brings a code with its verifier, once; or shows a token that one of the organization's identity-trusts fits.",
      security: [],
      requestBody: {
        required: true,
        content: { "application/x-www-form-urlencoded": { schema: { oneOf: [codeForm, exchangeForm] } } },
      },
      responses: {
        200: asJson("The token, and for how long it works.", tokenAnswer),
        400: asJson("Refused: `error` and `error_description` say why.", refusal),
        401: asJson("Refused: there is no client of the name in the header.", refusal),
        429: { $ref: "#/components/responses/429" },
        503: { $ref: "#/components/responses/503" },
      },
    },
  },
};
