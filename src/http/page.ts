/** Pages of the service's own that need nothing but themselves: nothing is loaded, sent, framed or run. */
import { createHash } from "node:crypto";
import type { FastifyReply } from "fastify";

const style = `
  :root { color-scheme: light dark }
  body { font: 1rem/1.6 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
  h1 { margin-bottom: 0 }
  pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid #8886; border-radius: .4rem }
  dt { font-weight: 600; margin-top: .6rem }
  dd { margin: 0 }
`;

/** The one style is known by its hash. */
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

/** The body is markup; whatever comes from elsewhere is `escaped` in it. */
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
