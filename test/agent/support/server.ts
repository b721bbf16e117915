/** A fake server that implements the agent protocol: hands out jobs, and records everything that an agent reports. */
import { randomBytes } from "node:crypto";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { tarOf } from "./tar.ts";

export const agentToken = "agent-token-of-a-pool-0123456789";

export interface Reported {
  log: string;
  readonly offsets: number[];
  readonly contents: Record<string, Buffer>;
  starts: number;
  finished: Record<string, unknown> | undefined;
  beats: number;
}

interface Queued {
  readonly attributes: Record<string, unknown>;
  readonly id: string;
  readonly files: Readonly<Record<string, string>>;
  readonly plan: Reported | undefined;
}

export interface JobRequest {
  readonly files: Readonly<Record<string, string>>;
  readonly phase?: "plan" | "apply";
  readonly runId?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  /** The reports of the plan that is applied. */
  readonly plan?: Reported;
}

let made = 0;

export class TestServer {
  readonly registered: Record<string, unknown>[] = [];
  readonly pings: { status: string }[] = [];
  /** Ids of agents that deleted themselves. */
  readonly left: string[] = [];
  readonly states: { serial: number; lineage: string; bytes: Buffer }[] = [];
  readonly reports = new Map<string, Reported>();
  readonly signals = new Map<string, "cancel" | "kill">();
  readonly #queue: Queued[] = [];
  readonly #claimed = new Map<string, Queued>();
  readonly #server: Server;
  /** Failing responses: a status for every path that matches. */
  readonly troubles: { path: RegExp; status: number; times: number }[] = [];
  /** Responses that are cut in the middle. */
  readonly cuts: { path: RegExp; times: number }[] = [];
  /** Whether the server doesn't respond at all. */
  isDeaf = false;
  claims = 0;
  #pendingState: { serial: number; lineage: string } | undefined;

  constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.writeHead(500).end(JSON.stringify({ errors: [{ detail: String(error) }] }));
      });
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this.url;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Queues a job, and returns its reports, which fill as it runs. */
  add({
    files,
    phase = "plan",
    runId,
    attributes = {},
    plan,
  }: JobRequest): Reported & { readonly id: string; readonly runId: string } {
    made += 1;
    const id = `${phase}-${made}`;
    // Agents of one machine must not share a run id: the processes of a run are found by it, and killed.
    const run = runId ?? `run-${randomBytes(6).toString("hex")}-${made}`;
    const report = { id, runId: run, log: "", offsets: [], contents: {}, starts: 0, finished: undefined, beats: 0 };
    this.reports.set(id, report);
    this.#queue.push({
      id,
      files,
      plan,
      attributes: {
        attempt: 1,
        phase,
        "run-id": run,
        "workspace-id": "ws-1",
        "workspace-name": "network",
        "organization-name": "acme",
        "project-id": "prj-1",
        "project-name": "Default Project",
        engine: "terraform",
        "engine-version": "1.5.7",
        "working-directory": "",
        structured: true,
        "is-destroy": false,
        refresh: true,
        "refresh-only": false,
        "allow-config-generation": false,
        "debugging-mode": false,
        "target-addrs": null,
        "replace-addrs": null,
        variables: [],
        token: `token-of-${id}-0123456789`,
        server: this.url,
        "configuration-url": `/configurations/${id}`,
        "state-url": this.states.length === 0 ? null : `${this.url}/state`,
        "input-state-version-id": null,
        "timeout-seconds": 60,
        "ssh-key": null,
        commit: null,
        "identity-tokens": [],
        "log-bytes-max": 100 * 1024 ** 2,
        ...attributes,
      },
    });
    return report;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.url);
    if (this.isDeaf) {
      request.socket.destroy();
      return;
    }
    const trouble = this.troubles.find(({ path, times }) => times > 0 && path.test(pathname));
    const body = await bodyOf(request);
    if (trouble !== undefined) {
      trouble.times -= 1;
      response.writeHead(trouble.status).end(JSON.stringify({ errors: [{ detail: "Trouble was ordered." }] }));
      return;
    }
    const cut = this.cuts.find(({ path, times }) => times > 0 && path.test(pathname));
    if (cut !== undefined) {
      cut.times -= 1;
      breakOff(response);
    }
    const route = pathname.replace(/^\/api\/v2/, "");
    const [, , id = "", ...rest] = route.split("/");
    if (route.startsWith("/agents")) return this.#answerAgent(request, response, rest.join("/"), body);
    if (route.startsWith("/agent-jobs/"))
      return this.#answerJob(request, response, id, rest.join("/"), searchParams, body);
    return this.#answerOthers(request, response, route, body);
  }

  async #answerAgent(request: IncomingMessage, response: ServerResponse, action: string, body: Buffer): Promise<void> {
    if (request.headers.authorization !== `Bearer ${agentToken}`) return refuse(response, 401, "Wrong token.");
    if (request.method === "DELETE") {
      this.left.push(new URL(request.url ?? "", this.url).pathname.split("/").at(-1) ?? "");
      return answer(response, 204);
    }
    const json = JSON.parse(String(body)) as Record<string, any>;
    if (action === "") {
      this.registered.push(json["data"].attributes as Record<string, unknown>);
      return answer(response, 201, { data: { id: `agent-${this.registered.length}`, type: "agents" } });
    }
    if (action === "actions/ping") {
      this.pings.push(json as { status: string });
      return answer(response, 204);
    }
    this.claims += 1;
    for (let waited = 0; waited < json["wait"] * 1000 && !response.destroyed; waited += 20) {
      const unavailable = json["unavailable-engines"] as { version: string }[] | undefined;
      const fits = ({ attributes }: Queued) =>
        (json["engines"][attributes["engine"] as string] as string[]).includes(
          attributes["engine-version"] as string,
        ) || unavailable?.every(({ version }) => version !== attributes["engine-version"]) === true;
      const index = this.#queue.findIndex(fits);
      if (index !== -1) {
        const [job] = this.#queue.splice(index, 1);
        this.#claimed.set(job!.id, job!);
        return answer(response, 200, { data: { id: job!.id, type: "agent-jobs", attributes: job!.attributes } });
      }
      await pause(20);
    }
    return answer(response, 204);
  }

  async #answerJob(
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    action: string,
    query: URLSearchParams,
    body: Buffer,
  ): Promise<void> {
    const report = this.reports.get(id);
    const job = this.#claimed.get(id);
    if (report === undefined || job === undefined) return refuse(response, 404, "No such job.");
    if (request.headers.authorization !== `Bearer ${agentToken}`) return refuse(response, 401, "Wrong token.");
    if (report.finished !== undefined) return refuse(response, 409, "The job is over.");
    if (action === "log") {
      const offset = Number(query.get("offset"));
      if (offset > report.log.length) return refuse(response, 409, `A gap: ${report.log.length} is expected.`);
      report.log = report.log.slice(0, offset) + body.toString("latin1");
      report.offsets.push(offset);
      return answer(response, 204);
    }
    if (action.startsWith("contents/")) {
      const kind = action.slice("contents/".length);
      if (request.method === "PUT") {
        report.contents[kind] = body;
        return answer(response, 204);
      }
      const content = job.plan?.contents[kind];
      return content === undefined
        ? refuse(response, 404, "No such content.")
        : void response.writeHead(200).end(content);
    }
    const json = JSON.parse(String(body)) as Record<string, unknown>;
    if (action === "actions/start") report.starts += 1;
    if (action === "actions/finish") report.finished = json;
    if (action === "actions/heartbeat") {
      report.beats += 1;
      for (
        let waited = 0;
        waited < Number(json["wait"]) * 1000 && !this.signals.has(id) && !response.destroyed;
        waited += 20
      )
        await pause(20);
      return answer(response, 200, { signal: this.signals.get(id) ?? null });
    }
    return answer(response, 204);
  }

  async #answerOthers(request: IncomingMessage, response: ServerResponse, route: string, body: Buffer): Promise<void> {
    if (route.startsWith("/configurations/")) {
      const job = this.#claimed.get(route.slice("/configurations/".length));
      if (request.headers.authorization !== `Bearer ${String(job?.attributes["token"])}`)
        return refuse(response, 401, "Wrong token.");
      return void response.writeHead(200).end(gzipSync(tarOf(job?.files ?? {})));
    }
    if (route === "/state") return void response.writeHead(200).end(this.states.at(-1)?.bytes);
    if (route.endsWith("/state-versions")) {
      const { attributes } = (JSON.parse(String(body)) as { data: { attributes: { serial: number; lineage: string } } })
        .data;
      const last = this.states.at(-1);
      if (last !== undefined && attributes.serial <= last.serial)
        return refuse(response, 409, "The serial is not larger.");
      this.#pendingState = attributes;
      return answer(response, 201, { data: { attributes: { "hosted-state-upload-url": `${this.url}/upload` } } });
    }
    if (route === "/upload" && this.#pendingState !== undefined && request.headers.authorization === undefined) {
      this.states.push({ ...this.#pendingState, bytes: body });
      return answer(response, 204);
    }
    return refuse(response, 404, "There is nothing here.");
  }
}

/** Sends half of the response, then closes the connection. */
function breakOff(response: ServerResponse): void {
  response.end = ((body: Buffer | string = "") => {
    response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.destroy());
    return response;
  }) as typeof response.end;
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function answer(response: ServerResponse, status: number, body?: unknown): void {
  response.writeHead(status, { "content-type": "application/vnd.api+json" });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

const refuse = (response: ServerResponse, status: number, detail: string) =>
  answer(response, status, { errors: [{ detail }] });

export const md5 = (bytes: Buffer): string => createHash("md5").update(bytes).digest("hex");
