/** Single sign-on in a browser: the redirect to a provider and the callback from it. Errors are pages too. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { paramsOf } from "../jsonapi/paths.ts";
import { beginSignIn, finishSignIn } from "../resources/identity/sso-providers/writes.ts";
import { flowSeconds, safeReturnPath } from "../resources/identity/sso-providers/flow.ts";
import type { Context } from "../resources/shared/context.ts";
import { browserOf, flowCookieIn, setFlowCookie } from "./browser.ts";
import { escaped, sendPage } from "./pages.ts";
import { parseQueryString } from "../jsonapi/query.ts";
import { setErrorStatus, sendError, sendRedirect } from "./respond.ts";

export const ssoRoutes = {
  begin: "/app/sign-in/sso/:sso_provider_id",
  callback: "/app/sign-in/sso/callback",
  ownCallback: "/app/sign-in/sso/:sso_provider_id/callback",
} as const;
const signInPage = "/app/~/sign-in";

export interface SsoOptions {
  readonly contextOf: (request: FastifyRequest) => Context;
  readonly publicUrl: () => string;
}

export function mountSso(server: FastifyInstance, { contextOf, publicUrl }: SsoOptions): void {
  const config = { isPage: true } as const;
  server.get(ssoRoutes.begin, { config }, async (request, reply) => {
    const { ssoProviderId = "" } = paramsOf(request.params as Record<string, string>);
    const [returnPath] = parseQueryString(request.query as string).get("return") ?? [];
    const { url, sealedFlow } = await beginSignIn(contextOf(request), ssoProviderId, safeReturnPath(returnPath));
    setFlowCookie(reply, publicUrl(), { flow: sealedFlow, seconds: flowSeconds });
    return sendRedirect(reply, url);
  });
  const finish = async (request: FastifyRequest, reply: FastifyReply) => {
    setFlowCookie(reply, publicUrl());
    const context = { ...contextOf(request), browser: browserOf(request, reply, publicUrl) };
    const { ssoProviderId: providerId } = paramsOf(request.params as Record<string, string>);
    const { returnTo } = await finishSignIn(context, {
      sealedFlow: flowCookieIn(request),
      query: request.query as string,
      providerId,
    });
    return sendRedirect(reply, returnTo);
  };
  server.get(ssoRoutes.callback, { config }, finish);
  server.get(ssoRoutes.ownCallback, { config }, finish);
}

export function sendRefusal(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
  if (!/\btext\/html\b/i.test(request.headers.accept ?? "")) return sendError(reply, error);
  const sentences = setErrorStatus(reply, error).map((sentence) => `<p>${escaped(sentence)}</p>`);
  return sendPage(
    reply,
    "Not signed in",
    `<h1>You are not signed in</h1>\n${sentences.join("\n")}\n<p><a href="${signInPage}">Back to the sign-in page</a></p>\n`,
  );
}

const refusals = {
  401: { $ref: "#/components/responses/401" },
  403: { $ref: "#/components/responses/403" },
  404: { $ref: "#/components/responses/404" },
  429: { $ref: "#/components/responses/429" },
  503: { $ref: "#/components/responses/503" },
};
const text = { schema: { type: "string" } };

const callback = {
  tags: ["sso-providers"],
  description: "Requires: a person who started the sign-in in this browser and whom the provider knows.",
  security: [],
  responses: {
    302: { description: "Signed in. Redirects to the page for which the sign-in was started." },
    ...refusals,
  },
};
const callbackParameters = [
  { name: "code", in: "query", ...text },
  { name: "state", in: "query", required: true, ...text },
  { name: "iss", in: "query", ...text },
  { name: "error", in: "query", ...text },
];

export const ssoPaths = {
  "/app/sign-in/sso/{sso_provider_id}": {
    get: {
      operationId: "beginSingleSignOn",
      tags: ["sso-providers"],
      summary: "Start single sign-on with a provider, in a browser",
      description: "Requires: nothing.",
      security: [],
      parameters: [
        { name: "sso_provider_id", in: "path", required: true, ...text },
        {
          name: "return",
          in: "query",
          description: "The path of this service to continue with; any other value leads to `/app`.",
          ...text,
        },
      ],
      responses: {
        302: { description: "Redirects to the provider, with a cookie that the browser has to return." },
        404: refusals[404],
        503: refusals[503],
      },
    },
  },
  [ssoRoutes.callback]: {
    get: {
      ...callback,
      operationId: "finishSingleSignOn",
      summary: "Complete sign-in with a provider of the site: the response sets the cookie cadastre_session",
      parameters: callbackParameters,
    },
  },
  "/app/sign-in/sso/{sso_provider_id}/callback": {
    get: {
      ...callback,
      operationId: "finishOwnSingleSignOn",
      summary: "Complete sign-in with an organization's own provider",
      parameters: [{ name: "sso_provider_id", in: "path", required: true, ...text }, ...callbackParameters],
    },
  },
};
