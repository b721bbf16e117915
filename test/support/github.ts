/** An in-memory GitHub API, as far as the service calls it, which also delivers webhooks. */
import type { RequestListener } from "node:http";
import type { Json } from "./api.ts";
import { exchange } from "./client.ts";
import { github } from "./vcs-payloads.ts";

export interface ReceivedStatus {
  readonly repository: string;
  readonly sha: string;
  readonly state: string;
  readonly context: string;
  readonly description: string;
  readonly target_url: string;
}

export class FakeGithub {
  readonly hooks = new Map<string, { readonly url: string; readonly secret: string }>();
  readonly statuses: ReceivedStatus[] = [];
  /** Visible to every token, with their branches. */
  readonly repositories = new Map<string, readonly string[]>();
  #hookId = 0;

  readonly listener: RequestListener = (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const sent: Json = pieces.length === 0 ? undefined : JSON.parse(Buffer.concat(pieces).toString("utf8"));
      const answer = this.#answer(request.method ?? "", request.url ?? "", sent);
      response.writeHead(answer === undefined ? 404 : request.method === "POST" ? 201 : 200, {
        "content-type": "application/json",
      });
      response.end(JSON.stringify(answer ?? { message: "Not Found" }));
    });
  };

  #answer(method: string, url: string, sent: Json): Json {
    const [, repository = "", rest = ""] = /^\/repos\/([^/]+\/[^/]+)\/(.*)$/.exec(url) ?? [];
    const [, sha] = /^statuses\/([0-9a-f]+)$/.exec(rest) ?? [];
    if (method === "POST" && rest === "hooks") {
      this.hooks.set(repository, { url: sent.config.url, secret: sent.config.secret });
      return { id: (this.#hookId += 1) };
    }
    if (method === "POST" && sha !== undefined) {
      this.statuses.push({ repository, sha, ...sent });
      return {};
    }
    if (method === "GET") return this.#list(new URL(url, "http://provider"));
    return method === "DELETE" ? {} : undefined;
  }

  #list({ pathname, searchParams }: URL): Json {
    const [, repository = ""] = /^\/repos\/([^/]+\/[^/]+)\/branches$/.exec(pathname) ?? [];
    const [size, page] = [Number(searchParams.get("per_page")), Number(searchParams.get("page"))];
    const pageOf = (all: readonly Json[]) => all.slice((page - 1) * size, page * size);
    if (pathname === "/user/repos") return pageOf([...this.repositories.keys()].map((full_name) => ({ full_name })));
    const branches = this.repositories.get(repository);
    return branches && pageOf(branches.map((name) => ({ name })));
  }

  statesOf(sha: string): string[] {
    return this.statuses.filter((status) => status.sha === sha).map(({ state }) => state);
  }

  async deliver(
    repository: string,
    kind: "push" | "tag" | "pull-request",
    payload: Json,
    { to, deliveryId }: { readonly to?: string; readonly deliveryId?: string } = {},
  ): Promise<number> {
    const hook = this.hooks.get(repository);
    if (hook === undefined) throw new Error(`there is no webhook for ${repository}`);
    const body = JSON.stringify(payload);
    const headers = {
      "content-type": "application/json",
      ...github.headers(kind, body, hook.secret),
      ...(deliveryId !== undefined && { "x-github-delivery": deliveryId }),
    };
    const url = to === undefined ? hook.url : `${to}${new URL(hook.url).pathname}`;
    return (await exchange(url, { method: "POST", headers, body })).status;
  }
}
