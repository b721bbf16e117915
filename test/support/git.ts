/** A real Git server on the loopback: `git http-backend` behind an HTTP server that requires a token. */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const environment = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_AUTHOR_NAME: "Ada",
  GIT_AUTHOR_EMAIL: "ada@example.com",
  GIT_COMMITTER_NAME: "Ada",
  GIT_COMMITTER_EMAIL: "ada@example.com",
};

export const git = (directory: string, ...words: string[]): string =>
  execFileSync("git", words, { cwd: directory, env: environment, stdio: ["ignore", "pipe", "pipe"] })
    .toString()
    .trim();

export function addSubmodule(work: string, path: string, url: string, sha: string): void {
  // Without its directory, the submodule would count as removed.
  mkdirSync(join(work, path), { recursive: true });
  git(work, "update-index", "--add", "--cacheinfo", `160000,${sha},${path}`);
  git(work, "config", "--file", ".gitmodules", `submodule.${path}.path`, path);
  git(work, "config", "--file", ".gitmodules", `submodule.${path}.url`, url);
  git(work, "add", ".gitmodules");
}

/** A clone, and the repository that it pushes to. */
export class TestRepository {
  readonly work: string;
  readonly bare: string;

  constructor(root: string, name: string) {
    this.bare = join(root, "served", `${name}.git`);
    this.work = join(root, "work", name);
    for (const folder of [this.bare, this.work]) mkdirSync(folder, { recursive: true });
    git(this.bare, "init", "--quiet", "--bare", "--initial-branch=main");
    git(this.work, "init", "--quiet", "--initial-branch=main");
    git(this.work, "remote", "add", "origin", this.bare);
  }

  push(files: Readonly<Record<string, string>>, { branch = "main", message = "A change" } = {}): string {
    for (const [name, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.work, name)), { recursive: true });
      writeFileSync(join(this.work, name), content);
    }
    git(this.work, "add", "--all");
    return this.commit(branch, message);
  }

  link(name: string, target: string): void {
    symlinkSync(target, join(this.work, name));
  }

  /** Checks out a commit, which becomes the parent of the next push. */
  goTo(sha: string): void {
    git(this.work, "checkout", "--quiet", "--detach", "--force", sha);
  }

  tag(name: string): string {
    git(this.work, "tag", name);
    git(this.work, "push", "--quiet", "origin", `refs/tags/${name}`);
    return git(this.work, "rev-parse", "HEAD");
  }

  commit(branch = "main", message = "A change"): string {
    git(this.work, "commit", "--quiet", "--allow-empty", "-m", message);
    git(this.work, "push", "--quiet", "--force", "origin", `HEAD:refs/heads/${branch}`);
    return git(this.work, "rev-parse", "HEAD");
  }
}

export interface GitServer {
  readonly url: string;
  readonly root: string;
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
  authorization: string | undefined;
  /** Handles requests other than Git's, such as the provider's API. */
  api: RequestListener | undefined;
  /** Fetches wait for this promise. */
  held: Promise<void> | undefined;
  /** The path of a bare repository whose requests get 503, as in an outage. */
  unavailable: string | undefined;
  repository(name: string): TestRepository;
  stop(): void;
}

export async function startGitServer(): Promise<GitServer> {
  const root = mkdtempSync(join(tmpdir(), "cadastre-git-"));
  const requests: { path: string; authorization: string | undefined }[] = [];
  const http: Server = createServer((request, response) => {
    const { authorization } = request.headers;
    requests.push({ path: request.url ?? "", authorization });
    if (server.authorization !== undefined && authorization !== server.authorization)
      return void response.writeHead(401, { "www-authenticate": "Basic" }).end();
    const path = decodeURIComponent(request.url ?? "");
    if (server.unavailable?.endsWith(path.replace(/\.git\/.*$/, ".git"))) return void response.writeHead(503).end();
    if (server.api !== undefined && !/\.git\//.test(request.url ?? "")) return server.api(request, response);
    return void (server.held ?? Promise.resolve()).then(() => serve(join(root, "served"), request, response));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const server: GitServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    root,
    requests,
    authorization: undefined,
    api: undefined,
    held: undefined,
    unavailable: undefined,
    repository: (name) => new TestRepository(root, name),
    stop: () => {
      http.closeAllConnections();
      http.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
  return server;
}

function serve(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://localhost");
  const child = spawn("git", ["http-backend"], {
    env: {
      ...environment,
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      CONTENT_LENGTH: request.headers["content-length"] ?? "",
      HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
    },
  });
  request.pipe(child.stdin);
  child.stdin.on("error", () => undefined);
  let head = Buffer.alloc(0);
  let isBody = false;
  child.stdout.on("data", (piece: Buffer) => {
    if (isBody) return void response.write(piece);
    head = Buffer.concat([head, piece]);
    const end = head.indexOf("\r\n\r\n");
    if (end === -1) return;
    isBody = true;
    const lines = head.subarray(0, end).toString().split("\r\n");
    const headers = Object.fromEntries(lines.map((line) => line.split(": ") as [string, string]));
    const { Status: status = "200", ...others } = headers;
    response.writeHead(Number.parseInt(status, 10), others);
    response.write(head.subarray(end + 4));
  });
  child.on("close", () => response.end());
}
