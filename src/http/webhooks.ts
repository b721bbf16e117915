/** Receives webhooks from VCS providers: raw bytes, authenticated by a signature, acknowledged immediately. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { paramsOf } from "../jsonapi/paths.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import type { WebhookConnection } from "../resources/connections/oauth-clients/reads.ts";
import type { Context } from "../resources/shared/context.ts";
import { connectionOf, deliveryBytesMax, receiveWebhook } from "../resources/vcs/vcs-events/receipt.ts";
import { isLarge, LargeBodyLimiter } from "./body.ts";
import { sendReceipt } from "./respond.ts";

export const webhookPath = "/webhooks/vcs/:oauth_client_id";

/** Anybody can send bodies to a known connection, and the signature is checked only after reading them. */
const largeBodies = new LargeBodyLimiter(24, 8);

declare module "fastify" {
  interface FastifyRequest {
    connection: WebhookConnection | undefined;
  }
}

export interface WebhookOptions {
  readonly contextOf: (request: FastifyRequest) => Context;
}

export function mountWebhooks(server: FastifyInstance, { contextOf }: WebhookOptions): void {
  void server.register(async (inner) => {
    inner.decorateRequest("connection", undefined);
    inner.removeAllContentTypeParsers();
    // The signature covers the raw bytes.
    inner.addContentTypeParser("*", { parseAs: "buffer", bodyLimit: deliveryBytesMax }, (_request, body, done) =>
      done(null, body),
    );
    const tooLarge = `A webhook can have at most ${deliveryBytesMax} bytes.`;
    inner.route({
      method: "POST",
      url: webhookPath,
      bodyLimit: deliveryBytesMax,
      config: { tooLarge },
      // Rejects unknown connections before reading the body.
      preParsing: async (request, reply) => {
        const { oauthClientId = "" } = paramsOf(request.params as Record<string, string>);
        request.connection = await connectionOf(contextOf(request), oauthClientId);
        if (request.connection === undefined) throw notFound("connection");
        refuseForm(request);
        if (isLarge(request)) largeBodies.acquire(reply, request.connection.id);
      },
      handler: async (request, reply) => {
        const { body, headers, connection } = request;
        const inbound = {
          header: (name: string) => [headers[name]].flat()[0],
          body: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
        };
        const receipt = await receiveWebhook(contextOf(request), connection as WebhookConnection, inbound);
        return sendReceipt(reply, receipt === "stored");
      },
    });
  });
}

/** Some providers can also send a form. Throws `unsupported-media-type`. */
function refuseForm({ headers }: FastifyRequest): void {
  if (headers["content-type"]?.startsWith("application/x-www-form-urlencoded"))
    throw new AppError(
      "unsupported-media-type",
      "The webhook is sent as a form. Set its content type at the provider to application/json.",
    );
}

export const webhookPaths = {
  "/webhooks/vcs/{oauth_client_id}": {
    post: {
      operationId: "receiveWebhook",
      tags: ["vcs-events"],
      summary: "Receive a webhook from a VCS provider",
      description:
        "Requires: a provider that signs with the webhook-secret of the OAuth client, in its own header; GitLab sends the secret itself, Azure DevOps sends it as a password.",
      security: [],
      parameters: [{ name: "oauth_client_id", in: "path", required: true, schema: { type: "string" } }],
      requestBody: { required: true, content: { "application/json": { schema: { type: "object" } } } },
      responses: {
        202: { description: "The webhook is stored. `vcs-events` shows its result." },
        204: { description: "The webhook was received before, or is not relevant." },
        401: { $ref: "#/components/responses/401" },
        404: { $ref: "#/components/responses/404" },
        413: { $ref: "#/components/responses/413" },
        415: { $ref: "#/components/responses/415" },
        429: { $ref: "#/components/responses/429" },
        503: { $ref: "#/components/responses/503" },
      },
    },
  },
};
