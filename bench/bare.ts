/** The reference: a bare `node:http` server that sends fixed bytes. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tellUsage } from "./children.ts";

let body = Buffer.alloc(0);
let status = 200;

process.on("message", (told: { status?: number; body?: string }) => {
  if (told.body === undefined) return;
  body = Buffer.from(told.body);
  status = told.status ?? 200;
  process.send?.("ready");
});
tellUsage();

const server = createServer((request, response) => {
  request.on("data", () => {});
  request.on("end", () => {
    response.writeHead(status, { "content-type": "application/vnd.api+json", "content-length": body.length });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
