/** Serves the console's files under `/app`. Every other path there is a page, which the console routes. */
import { randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { notFound } from "../kernel/errors.ts";
import { colourSchemeIn, sessionSecretIn } from "./browser.ts";
import { sendError, unavailableStatus } from "./respond.ts";

export interface ServedConsole {
  files(): ReadonlyMap<string, Buffer> | undefined;
  failure(): string | undefined;
}

export const consolePath = "/app";
export const consoleRoutes = [consolePath, `${consolePath}/*`] as const;

/** File names here contain a hash of the content. No organization can be named `~`. */
const assets = "~/assets/";

const types: Record<string, string> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
  png: "image/png",
  json: "application/json",
};

/** Everything from this origin only; styles that are created at run time need the page's nonce. */
const policy = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");

export function mountConsole(server: FastifyInstance, served: ServedConsole | undefined): void {
  const compressed = new CompressedFiles();
  for (const route of consoleRoutes)
    server.get(route, async (request, reply) => {
      if (served === undefined) return sendError(reply, notFound("path"));
      const files = served.files();
      if (files === undefined) return sendUnavailable(reply, served.failure());
      const name = (request.params as { "*"?: string })["*"] ?? "";
      const file = name === "index.html" ? undefined : files.get(name);
      if (file === undefined && name.startsWith(assets)) return sendError(reply, notFound("path"));
      const accepted = request.headers["accept-encoding"] ?? "";
      if (file === undefined) return sendPage(reply, files.get("index.html")!, pageOf(request, name), accepted);
      reply.header("content-type", types[name.split(".").at(-1)!] ?? "application/octet-stream");
      reply.header(
        "cache-control",
        name.startsWith(assets) ? "public, max-age=31536000, immutable" : "public, max-age=3600",
      );
      return compressed.send(reply, name, file, accepted);
    });
}

function pageOf(request: FastifyRequest, name: string): Record<string, string> {
  const hasSession = sessionSecretIn(request.raw) !== undefined;
  const isOutside = !hasSession || /^(~\/sign-in|invitations\/cadastre-)/.test(name);
  const isInOrganization = !/^(|index\.html|~.*)$/.test(name);
  return {
    FRAME: isOutside ? "outside" : isInOrganization ? "organization" : "site",
    SESSION: hasSession ? "maybe" : "none",
    SCHEME: colourSchemeIn(request.raw),
  };
}

async function sendPage(
  reply: FastifyReply,
  index: Buffer,
  page: Record<string, string>,
  accepted: string,
): Promise<FastifyReply> {
  const nonce = randomBytes(16).toString("base64");
  const words: Record<string, string> = { ...page, NONCE: nonce };
  const html = index.toString("utf8").replace(/\b(NONCE|FRAME|SESSION|SCHEME)\b/g, (word) => words[word]!);
  asPage(reply, policy(nonce)).header("vary", "accept-encoding, cookie");
  if (!/\bgzip\b/.test(accepted)) return reply.send(html);
  return reply.header("content-encoding", "gzip").send(await gzipped(html));
}

const asPage = (reply: FastifyReply, policy: string): FastifyReply =>
  reply
    .header("content-type", types["html"])
    .header("content-security-policy", policy)
    .header("referrer-policy", "no-referrer")
    .header("cache-control", "no-store");

function sendUnavailable(reply: FastifyReply, failure: string | undefined): FastifyReply {
  const words = failure === undefined ? "The console is being built. This page reloads automatically." : failure;
  if (failure === undefined) reply.header("refresh", "1");
  const text = words.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`);
  return asPage(reply, "default-src 'none'; frame-ancestors 'none'")
    .code(unavailableStatus)
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Cadastre</title><p>${text}</p></html>`,
    );
}

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

class CompressedFiles {
  readonly #files = new Map<string, Promise<Buffer>>();

  async send(reply: FastifyReply, name: string, file: Buffer, accepted: string): Promise<FastifyReply> {
    const encoding = /\bbr\b/.test(accepted) ? "br" : /\bgzip\b/.test(accepted) ? "gzip" : undefined;
    reply.header("vary", "accept-encoding");
    if (encoding === undefined || name.endsWith(".png")) return reply.send(file);
    const key = `${encoding}:${name}:${file.length}`;
    let compressed = this.#files.get(key);
    if (compressed === undefined) {
      compressed =
        encoding === "br"
          ? brotli(file, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } })
          : gzipped(file, { level: 9 });
      this.#files.set(key, compressed);
    }
    return reply.header("content-encoding", encoding).send(await compressed);
  }
}
