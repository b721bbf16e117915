/** Sends a notification to a webhook, signed if it has a token. */
import { createHmac } from "node:crypto";
import { sendRequest, OutgoingError } from "../../../outgoing/request.ts";
import { now } from "../../../kernel/time.ts";
import type { ServiceOptions } from "../context.ts";
import { type DeliveryResponse, failedResponse } from "./delivery.ts";

export interface OutgoingWebhook {
  readonly url: string;
  readonly token: string | null;
  /** The same for every attempt. */
  readonly id: string;
  readonly eventName: string;
  readonly body: object;
}

const timeoutMs = 10_000;
const bodyMax = 1024;
const headersMax = 32;
const valueMax = 256;

/** Does not raise: an unreachable receiver is a failed attempt. */
export async function sendWebhook(options: ServiceOptions, webhook: OutgoingWebhook): Promise<DeliveryResponse> {
  const { url, token, id, eventName } = webhook;
  const sentAt = now();
  const body = JSON.stringify(webhook.body);
  const headers = {
    "content-type": "application/json",
    "x-cadastre-delivery": id,
    "x-cadastre-event": eventName,
    ...(token !== null && { "x-tfe-notification-signature": signatureOf(token, body) }),
  };
  try {
    const allowed = options.privateAddresses ?? [];
    const answer = await sendRequest(url, { method: "POST", headers, body }, { allowed, timeoutMs, bytesMax: bodyMax });
    return {
      code: String(answer.status),
      body: answer.body,
      headers: shown(answer.headers),
      "sent-at": sentAt,
      successful: answer.status >= 200 && answer.status < 300 ? "true" : "false",
    };
  } catch (error) {
    if (error instanceof OutgoingError) return failedResponse(error.message, sentAt);
    throw error;
  }
}

/** Lower-case hexadecimal HMAC-SHA-512, as clients of the public API check it. */
export const signatureOf = (token: string, body: string): string =>
  createHmac("sha512", token).update(body).digest("hex");

export const verificationErrorOf = ({ code, body }: DeliveryResponse): string =>
  code === ""
    ? `The verification failed, and nothing was saved. ${body}`
    : `The verification failed, and nothing was saved: the response had status ${code} instead of 2xx.`;

/** Limited in size, and without cookies. */
const shown = (headers: DeliveryResponse["headers"]): DeliveryResponse["headers"] =>
  Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name !== "set-cookie")
      .slice(0, headersMax)
      .map(([name, values]) => [name, values.map((value) => value.slice(0, valueMax))]),
  );

/** The host alone, because the rest of the address can be secret. */
export const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : "unknown");
