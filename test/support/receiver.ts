/** A webhook receiver on the loopback that stores requests and gives configurable responses. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { Caller, Json } from "./api.ts";
import { data, resource, unique } from "./builders.ts";

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Json;
}

export interface Receiver {
  /** Includes the port, which makes it unique. */
  readonly url: string;
  readonly heard: ReceivedRequest[];
  /** Each test starts with 200. */
  answer: RequestListener;
}

export const allowed = ["127.0.0.1"];

export const answering =
  (status: number, body = ""): RequestListener =>
  (_, response) =>
    response.writeHead(status, { "x-receiver": "test" }).end(body);

export function useReceiver(): Receiver {
  let server: Server | undefined;
  const receiver = { url: "", heard: [] as ReceivedRequest[], answer: answering(200, "heard") };
  beforeAll(async () => {
    server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on("data", (piece: Buffer) => pieces.push(piece));
      request.on("end", () => {
        const text = Buffer.concat(pieces).toString("utf8");
        receiver.heard.push({ path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) });
        receiver.answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`;
  });
  beforeEach(() => {
    receiver.heard.length = 0;
    receiver.answer = answering(200, "heard");
  });
  afterAll(() => {
    server?.closeAllConnections();
    server?.close();
  });
  return receiver;
}

let acceptingUrl: Promise<string> | undefined;

/** The URL of a receiver that accepts every request. It keeps no process alive. */
export function acceptingReceiver(): Promise<string> {
  acceptingUrl ??= new Promise((resolve) => {
    const server = createServer((request, response) => {
      request.resume();
      response.writeHead(204).end();
    });
    server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`));
    server.unref();
  });
  return acceptingUrl;
}

interface NotifiedTenant {
  readonly name: string;
  readonly owner: Caller;
  readonly params: Readonly<Record<string, string>>;
}

/** One notification target of each kind, verified but not enabled. */
export async function makeNotificationTargets({
  name,
  owner,
  params,
}: NotifiedTenant): Promise<Record<string, string>> {
  const url = await acceptingReceiver();
  const make = async (path: string, type: string, attributes: object): Promise<string> =>
    data(await owner.post(`${path}/${type}`, resource(type, { name: unique("target"), url, ...attributes }))).id;
  const workspacePath = `/workspaces/${params["workspace_id"]}`;
  const generic = { "destination-type": "generic" };
  return {
    notification_configuration_id: await make(workspacePath, "notification-configurations", generic),
    audit_webhook_id: await make(`/organizations/${name}`, "audit-webhooks", { events: ["lock.held"] }),
  };
}
