/** `GET /`: what this is and where to go on, as JSON; a browser is led to the console, or told the same where there is none. */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
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

/** Nothing is loaded, sent, framed or run; the one style is known by its hash. */
const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(style).digest("base64")}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const links = {
  api: `${basePath}/`,
  openapi: `${basePath}/openapi.json`,
  discovery: "/.well-known/terraform.json",
  health: "/healthz",
  readiness: "/readyz",
} as const;

/** The first thing to try, for whoever has a token. */
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
    return reply
      .header("content-type", "text/html; charset=utf-8")
      .header("content-security-policy", policy)
      .header("referrer-policy", "no-referrer")
      .send(page(publicUrl()));
  });
}

const escapes: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string) => text.replace(/[&<>"]/g, (letter) => escapes[letter] ?? "");

function page(url: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Cadastre</title>
<style>${style}</style>
</head>
<body>
<h1>Cadastre</h1>
<p>A register of infrastructure workspaces: organizations, their projects and workspaces, and which team may do what to them.
It is a service for programs: Terraform, OpenTofu, and whatever speaks JSON:API. There is nothing to click here yet.</p>

<h2>Try it</h2>
<p>The first start printed the admin's token. Put it in place of the dots:</p>
<pre>export TOKEN=cadastre-…
${escaped(firstCommand(url))}</pre>
<p>Is it lost? On the machine, in the checkout: <code>npm run cadastre -- token create --user admin</code></p>

<h2>Where things are</h2>
<dl>
<dt><code>${escaped(url)}${links.api}</code></dt>
<dd>The API. Every request carries a token.</dd>
<dt><code>${links.openapi}</code></dt>
<dd>Every route, parameter, body and answer, as an OpenAPI document (with a token).</dd>
<dt><a href="${links.discovery}"><code>${links.discovery}</code></a></dt>
<dd>By which Terraform and OpenTofu find the API.</dd>
<dt><a href="${links.health}"><code>${links.health}</code></a>, <a href="${links.readiness}"><code>${links.readiness}</code></a></dt>
<dd>Is it alive? Is it ready?</dd>
</dl>

<h2>Next</h2>
<p>In the checkout: <code>README.md</code> makes a first organization, project and workspace; <code>docs/clients.md</code> points
Terraform and OpenTofu here; <code>docs/api.md</code> is for those who call the API; <code>docs/operations.md</code> for those who
run it.</p>
</body>
</html>
`;
}
