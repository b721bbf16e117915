/** Session cookies, and protection against cross-site request forgery. */
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../kernel/errors.ts";
import { nowMs } from "../kernel/time.ts";
import type { Browser } from "../resources/shared/context.ts";
import { mediaType } from "./respond.ts";

const cookieName = "cadastre_session";
const cookiePattern = (name: string): RegExp =>
  new RegExp(`(?:^|;)\\s*${name}=([\\x21\\x23-\\x2b\\x2d-\\x3a\\x3c-\\x5b\\x5d-\\x7e]+)`);
const cookie = cookiePattern(cookieName);

type RequestHeaders = Pick<IncomingMessage, "headers">;

/** Undefined where the request also has a token, which takes precedence. */
export function sessionSecretIn({ headers }: RequestHeaders): string | undefined {
  if (headers.cookie === undefined || headers.authorization !== undefined) return undefined;
  return cookie.exec(headers.cookie)?.[1];
}

const safeMethods = ["GET", "HEAD", "OPTIONS"];

/**
 * Another site's page can make a browser send a form with our cookie, but can't set this media type without a CORS preflight, nor hide
 * its origin. Throws `forbidden` or `unsupported-media-type`.
 */
export function refuseForeignPages(request: FastifyRequest, publicUrl: () => string, isSigningIn = false): void {
  const { method, headers } = request;
  if (safeMethods.includes(method)) return;
  const byCookie = sessionSecretIn(request) !== undefined;
  if (!byCookie && !isSigningIn) return;
  const isOurs = headers.origin === undefined ? !byCookie : isOwnOrigin(headers.origin, headers.host, publicUrl());
  if (!isOurs)
    throw new AppError(
      "forbidden",
      "Requests with a session cookie can make changes only from the service's own pages: the Origin header must name the service. Programs should send a token instead.",
    );
  if (byCookie && !isOfMediaType(headers["content-type"]))
    throw new AppError(
      "unsupported-media-type",
      `Requests with a session cookie that make changes must have the media type ${mediaType}, even without a body. Set the Content-Type header to it.`,
    );
}

export const isOfMediaType = (sent: string | undefined): boolean =>
  sent?.split(";")[0]?.trim().toLowerCase() === mediaType;

function isOwnOrigin(origin: string, host: string | undefined, publicUrl: string): boolean {
  const sent = URL.canParse(origin) ? new URL(origin) : undefined;
  return sent !== undefined && (sent.host === host || sent.origin === new URL(publicUrl).origin);
}

/** Not readable by scripts; sent with links from other sites but not with their forms. */
const attributes = (publicUrl: string, path: string, seconds: number): string =>
  `Path=${path}; HttpOnly; SameSite=Lax${publicUrl.startsWith("https:") ? "; Secure" : ""}; Max-Age=${seconds}`;

const flowName = "cadastre_sso";
const flowCookie = cookiePattern(flowName);
const flowPath = "/app/sign-in/sso";

export const flowCookieIn = ({ headers }: RequestHeaders): string | undefined =>
  flowCookie.exec(headers.cookie ?? "")?.[1];

/** Without `started`: removes the cookie. */
export function setFlowCookie(
  reply: FastifyReply,
  publicUrl: string,
  started?: { readonly flow: string; readonly seconds: number },
): void {
  const { flow = "", seconds = 0 } = started ?? {};
  void reply.header("set-cookie", `${flowName}=${flow}; ${attributes(publicUrl, flowPath, seconds)}`);
}

const schemeCookie = /(?:^|;)\s*cadastre_scheme=(light|dark)(?:;|$)/;
export const colourSchemeIn = ({ headers }: RequestHeaders): string =>
  schemeCookie.exec(headers.cookie ?? "")?.[1] ?? "auto";

const nameLengthMax = 256;

export function browserOf(request: FastifyRequest, reply: FastifyReply, publicUrl: () => string): Browser {
  const set = (value: string, seconds: number) =>
    reply.header("set-cookie", `${cookieName}=${value}; ${attributes(publicUrl(), "/", seconds)}`);
  return {
    name: request.headers["user-agent"]?.slice(0, nameLengthMax) ?? null,
    setSessionCookie: (secret, until) =>
      void set(secret, Math.max(0, Math.floor((Date.parse(until) - nowMs()) / 1000))),
    clearSessionCookie: () => void set("", 0),
  };
}
