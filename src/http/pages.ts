/** The service's own HTML pages, which load and run nothing, and `GET /`, which leads to the console or to the API. */
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply } from "fastify";
import { consolePath } from "./console.ts";
import { basePath, sendJson } from "./respond.ts";

const style = `
  :root { color-scheme: light dark }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
  h1 { margin-bottom: 0 }
  pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid #8886; border-radius: .4rem }
  dt { font-weight: 600; margin-top: .6rem }
  dd { margin: 0 }
`;

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escaped = (text: string): string => text.replace(/[&<>"]/g, (letter) => escapes[letter] ?? "");

/** `body` is markup: escape every value from elsewhere with `escaped`. */
export function sendPage(reply: FastifyReply, title: string, body: string): FastifyReply {
  return reply
    .header("content-type", "text/html; charset=utf-8")
    .header("content-security-policy", policy)
    .header("referrer-policy", "no-referrer").send(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escaped(title)}</title>
<style>${style}</style>
</head>
<body>
${body}</body>
</html>
`);
}

const links = {
  api: `${basePath}/`,
  openapi: `${basePath}/openapi.json`,
  discovery: "/.well-known/terraform.json",
  health: "/healthz",
  readiness: "/readyz",
} as const;

export const firstCommand = (url: string, options = ""): string =>
  `curl -sSf -w '\\n' ${options}-H "Authorization: Bearer $TOKEN" ${url}${basePath}/account/details`;

interface FrontPageOptions {
  readonly publicUrl: () => string;
  readonly hasConsole: boolean;
}

export function mountFrontPage(server: FastifyInstance, { publicUrl, hasConsole }: FrontPageOptions): void {
  server.get("/", async (request, reply) => {
    reply.header("vary", "accept");
    if (!/\btext\/html\b/i.test(request.headers.accept ?? ""))
      return sendJson(reply, { name: "Cadastre", links }, "application/json");
    if (hasConsole) return reply.redirect(`${consolePath}/`);
    return sendPage(reply, "Cadastre", page(publicUrl()));
  });
}

function page(url: string): string {
  return `<h1>Cadastre</h1>
<p>A self-hosted control plane for Terraform and OpenTofu: organizations, projects, workspaces, and access of teams to them.
Clients use its JSON:API. The console is turned off here (<code>CADASTRE_CONSOLE</code>).</p>

<h2>Try it</h2>
<p>The first start printed the admin's token. Put it in place of the dots:</p>
<pre>export TOKEN=cadastre-…
${escaped(firstCommand(url))}</pre>
<p>If you lost it, create another on the machine that runs the service: <code>cadastre token create admin</code>; from the sources: <code>npm run cadastre -- token create admin</code></p>

<h2>Where things are</h2>
<dl>
<dt><code>${escaped(url)}${links.api}</code></dt>
<dd>The API. Every request needs a token.</dd>
<dt><code>${links.openapi}</code></dt>
<dd>The OpenAPI document of the API (needs a token).</dd>
<dt><a href="${links.discovery}"><code>${links.discovery}</code></a></dt>
<dd>Service discovery for Terraform and OpenTofu.</dd>
<dt><a href="${links.health}"><code>${links.health}</code></a>, <a href="${links.readiness}"><code>${links.readiness}</code></a></dt>
<dd>Liveness and readiness.</dd>
</dl>

<h2>Next</h2>
<p>In the project's sources, <code>README.md</code> creates a first organization, project and workspace, and <code>docs/api.md</code> describes
the API. <code>cadastre help</code> lists the operator's commands.</p>
`;
}
