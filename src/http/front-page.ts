/** `GET /`: what this is and where to go on, as JSON; a browser is led to the console, or told the same where there is none. */
import type { FastifyInstance } from "fastify";
import { consolePath } from "./console.ts";
import { escaped, sendPage } from "./page.ts";
import { basePath, sendJson } from "./respond.ts";

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
    return sendPage(reply, "Cadastre", page(publicUrl()));
  });
}

function page(url: string): string {
  return `<h1>Cadastre</h1>
<p>A register of infrastructure workspaces: organizations, their projects and workspaces, and which team may do what to them.
It is a service for programs: Terraform, OpenTofu, and whatever speaks JSON:API. Its console is turned off here (<code>CADASTRE_CONSOLE</code>).</p>

<h2>Try it</h2>
<p>The first start printed the admin's token. Put it in place of the dots:</p>
<pre>export TOKEN=cadastre-…
${escaped(firstCommand(url))}</pre>
<p>Is it lost? On the machine that it runs on: <code>cadastre token create admin</code>; where it runs from its sources,
there: <code>npm run cadastre -- token create admin</code></p>

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
<p>Among the project's sources: <code>README.md</code> makes a first organization, project and workspace; <code>docs/clients.md</code>
points Terraform and OpenTofu here; <code>docs/api.md</code> is for those who call the API; <code>docs/operations.md</code> for those
who run it. <code>cadastre help</code> tells the operator's commands.</p>
`;
}
