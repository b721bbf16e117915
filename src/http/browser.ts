/** What only browsers bring: the cookie of a session, which they send by themselves, and so with requests that nobody meant to make. */
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../kernel/errors.ts";
import { nowMs } from "../kernel/time.ts";
import type { Browser } from "../resources/shared/context.ts";
import { mediaType } from "./respond.ts";

const cookieName = "cadastre_session";
const cookieCalled = (name: string): RegExp =>
  new RegExp(`(?:^|;)\\s*${name}=([\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]+)`);
const cookie = cookieCalled(cookieName);

type RequestHeaders = Pick<IncomingMessage, "headers">;

/** The secret of a session. Whoever sends a token as well means the token. */
export function sessionSecretIn({ headers }: RequestHeaders): string | undefined {
  if (headers.cookie === undefined || headers.authorization !== undefined) return undefined;
  return cookie.exec(headers.cookie)?.[1];
}

const harmless = ["GET", "HEAD", "OPTIONS"];

/**
 * A page of any host can have a browser send a form here, with our cookie. It can't choose this media type without being sent for
 * leave first, nor hide where it comes from. Raises `forbidden` or `unsupported-media-type`.
 */
export function refuseForeignPages(request: FastifyRequest, publicUrl: () => string, isSigningIn = false): void {
  const { method, headers } = request;
  if (harmless.includes(method)) return;
  const byCookie = sessionSecretIn(request) !== undefined;
  if (!byCookie && !isSigningIn) return;
  const isOurs = headers.origin === undefined ? !byCookie : isOwnOrigin(headers.origin, headers.host, publicUrl());
  if (!isOurs)
    throw new AppError(
      "forbidden",
      "With a session's cookie, changes are only made from the service's own pages: the Origin header must name it. Programs send a token instead.",
    );
  if (byCookie && !isOfMediaType(headers["content-type"]))
    throw new AppError(
      "unsupported-media-type",
      `With a session's cookie, every request that changes something must be of the media type ${mediaType}, also without a body; set the Content-Type header to it.`,
    );
}

export const isOfMediaType = (sent: string | undefined): boolean =>
  sent?.split(";")[0]?.trim().toLowerCase() === mediaType;

/** By its public name, or by the one that the browser reached it by. */
function isOwnOrigin(origin: string, host: string | undefined, publicUrl: string): boolean {
  const sent = URL.canParse(origin) ? new URL(origin) : undefined;
  return sent !== undefined && (sent.host === host || sent.origin === new URL(publicUrl).origin);
}

/** For no script, and only of this host; a link from elsewhere brings it along, another site's form does not. */
const attributes = (publicUrl: string, path: string, seconds: number): string =>
  `Path=${path}; HttpOnly; SameSite=Lax${publicUrl.startsWith("https:") ? "; Secure" : ""}; Max-Age=${seconds}`;

/** What a browser takes along to a provider of single sign-on and brings back: it is sent to the way back alone. */
const flowName = "cadastre_sso";
const flowCookie = cookieCalled(flowName);
const flowPath = "/app/sign-in/sso";

export const flowCookieIn = ({ headers }: RequestHeaders): string | undefined =>
  flowCookie.exec(headers.cookie ?? "")?.[1];

/** Takes it back where nothing is to be kept. */
export function setFlowCookie(
  reply: FastifyReply,
  publicUrl: string,
  kept?: { readonly flow: string; readonly seconds: number },
): void {
  const { flow = "", seconds = 0 } = kept ?? {};
  void reply.header("set-cookie", `${flowName}=${flow}; ${attributes(publicUrl, flowPath, seconds)}`);
}

/** The colours that somebody chose in the console, which writes this cookie: the first thing a page shows has them already. */
const schemeCookie = /(?:^|;)\s*cadastre_scheme=(light|dark)(?:;|$)/;
export const colourSchemeIn = ({ headers }: RequestHeaders): string =>
  schemeCookie.exec(headers.cookie ?? "")?.[1] ?? "auto";

const nameLengthMax = 256;

/** The browser that a request comes from, as operations see it. */
export function browserOf(request: FastifyRequest, reply: FastifyReply, publicUrl: () => string): Browser {
  const set = (value: string, seconds: number) =>
    reply.header("set-cookie", `${cookieName}=${value}; ${attributes(publicUrl(), "/", seconds)}`);
  return {
    name: request.headers["user-agent"]?.slice(0, nameLengthMax) ?? null,
    keep: (secret, until) => void set(secret, Math.max(0, Math.floor((Date.parse(until) - nowMs()) / 1000))),
    forget: () => void set("", 0),
  };
}
