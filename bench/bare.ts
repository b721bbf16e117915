/** The reference: a bare `node:http` server that sends fixed bytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { reportUsage } from "./children.ts";

let body = Buffer.alloc(0);
let status = 200;

process.on("message", (message: { status?: number; body?: string }) => {
  if (message.body === undefined) return;
  body = Buffer.from(message.body);
  status = message.status ?? 200;
  process.send?.("ready");
});
reportUsage();

const server = createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => {
    response.writeHead(status, { "content-type": "application/vnd.api+json", "content-length": body.length });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
