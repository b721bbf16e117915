/** Discovery, front page, health checks, limits and transport security. */
import { createHash } from "node:crypto";
import { describe, expect, it, afterAll } from "vitest";
import { type Answer, type Api, type Json, mediaType, startApi, startApiOn, useApi } from "../support/api.ts";
import { makeOrganization, makeTeamToken, makeUser, resource, unique } from "../support/builders.ts";
import { sendRaw } from "../support/raw-request.ts";

const api = useApi({ metricsToken: "metrics-token-0123456789" });
const extra: Api[] = [];
afterAll(() => Promise.all(extra.map((one) => one.stop())));

async function startExtra(options: Parameters<typeof startApi>[0]): Promise<Api> {
  const started = await startApi(options);
  extra.push(started);
  return started;
}

describe("discovery", () => {
  it("names the services that clients look for", async () => {
    const answer = await api.nobody.get("/.well-known/terraform.json");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toContain("application/json");
    expect(answer.body).toEqual({
      "tfe.v2": "/api/v2/",
      "tfe.v2.1": "/api/v2/",
      "tfe.v2.2": "/api/v2/",
      "state.v2": "/api/v2/",
      // See `authorizations/login.test.ts`.
      "login.v1": expect.anything(),
    });
  });

  it("answers a ping without a token", async () => {
    const answer = await api.nobody.get("/ping");
    expect(answer.status).toBe(204);
    expect(answer.headers.get("tfp-api-version")).toBe("2.6");
    expect(answer.headers.get("x-ratelimit-limit")).toBe("0");
  });

  it("serves the OpenAPI document", async () => {
    const answer = await api.admin.get("/openapi.json");
    expect(answer.status).toBe(200);
    expect(answer.body.openapi).toBe("3.1.0");
    expect(answer.body.paths["/api/v2/projects/{project_id}"].get.operationId).toBe("showProject");
  });
});

describe("the front page", () => {
  const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
  const get = (path: string, accept: string, on = api.url) => fetch(on + path, { headers: { accept } });

  it("shows a browser what this is and where to continue", async () => {
    const answer = await get("/", browser);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.headers.get("vary")).toBe("accept");
    const page = await answer.text();
    for (const part of [
      "<title>Cadastre</title>",
      `${api.url}/api/v2/`,
      "/api/v2/openapi.json",
      "docs/api.md",
      "curl ",
      "<code>cadastre token create admin</code>",
      "<code>npm run cadastre -- token create admin</code>",
    ])
      expect(page).toContain(part);
    // An installed package has no checkout.
    expect(page).not.toContain("checkout");
  });

  it("loads and runs nothing, and its style matches its content security policy", async () => {
    const answer = await get("/", browser);
    const page = await answer.text();
    expect(page).not.toMatch(/<script|<form|<iframe|\son\w+=|style="|javascript:|(src|href)="https?:/i);
    const style = /<style>(.*)<\/style>/s.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    const policy = answer.headers.get("content-security-policy") ?? "";
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      `style-src 'sha256-${hash}'`,
      "img-src data:",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ]);
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  });

  it("links only to existing paths", async () => {
    const page = await (await get("/", browser)).text();
    const paths = [...page.matchAll(/href="(\/[^"]*)"/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(2);
    for (const path of paths) expect((await get(path, browser)).status, path).toBe(200);
  });

  it("shows the public URL, and nothing from the request", async () => {
    const named = await startExtra({ options: { publicUrl: 'https://cadastre.example/"><script>' } });
    const page = await (await get("/", browser, named.url)).text();
    expect(page).toContain("https://cadastre.example/&quot;&gt;&lt;script&gt;/api/v2/");
    const { body } = await sendRaw(
      named.url,
      "GET / HTTP/1.1\r\nHost: evil.example\r\nAccept: text/html\r\nConnection: close\r\n\r\n",
    );
    expect(body).toContain("https://cadastre.example/");
    expect(body).not.toContain("evil.example");
  });

  it("returns JSON to other clients", async () => {
    for (const accept of ["*/*", "application/json", "application/vnd.api+json"]) {
      const answer = await get("/", accept);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("application/json");
      expect(await answer.json()).toEqual({
        name: "Cadastre",
        links: {
          api: "/api/v2/",
          openapi: "/api/v2/openapi.json",
          discovery: "/.well-known/terraform.json",
          health: "/healthz",
          readiness: "/readyz",
        },
      });
    }
  });

  it("is the only page: an unknown path is a JSON:API error for a browser too", async () => {
    for (const path of ["/index.html", "/app", "/favicon.ico"]) {
      const answer = await get(path, browser);
      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-type")).toBe(mediaType);
      expect(((await answer.json()) as Json).errors[0].status).toBe("404");
    }
    expect((await get("/api/v2/organizations", browser)).status).toBe(401);
  });
});

describe("health", () => {
  it("is alive and ready", async () => {
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
  });

  it("is not ready during the first start", async () => {
    let isStarting = true;
    const { url } = await startExtra({ isStarting: () => isStarting });
    const early = await fetch(`${url}/readyz`);
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "1"]);
    isStarting = false;
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
  });

  it("shows metrics only to the metrics token and to site admins", async () => {
    const read = async (token?: string) =>
      fetch(`${api.url}/metrics`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    expect((await read()).status).toBe(401);
    expect((await read((await makeUser(api)).token)).status).toBe(404);
    expect((await read("metrics-token-0123456789")).status).toBe(200);
    const person = resource("users", { username: unique("user"), email: `${unique("user")}@example.com` });
    expect((await api.admin.post("/admin/users", person)).status).toBe(201);
    const text = await (await read(api.admin.token)).text();
    expect(text).toMatch(
      /cadastre_http_requests_total\{method="POST",route="\/api\/v2\/admin\/users",status="201"\} \d+/,
    );
    for (const name of [
      "cadastre_http_request_duration_seconds_bucket",
      "cadastre_database_statements_total",
      "cadastre_database_commits_total",
      "cadastre_kept_answers_bytes",
      'cadastre_database_connections{state="open"}',
      "cadastre_event_loop_lag_seconds",
    ]) {
      expect(text).toContain(name);
    }
  });
});

describe("limits", () => {
  it("enforces the rate limit: 429 with Retry-After and a number in X-RateLimit-Reset", async () => {
    const limited = await startExtra({ rateLimit: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => limited.admin.get("/account/details")));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.some((answer) => answer.status === 200)).toBe(true);
    expect(refused[0]?.headers.get("x-ratelimit-limit")).toBe("3");
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused[0]?.headers.get("x-ratelimit-reset"))).toBeGreaterThan(0);
    expect(refused[0]?.headers.get("x-ratelimit-remaining")).toBe("0");
  });

  it("shows the caller's remaining limit on this server", async () => {
    const { address, database } = api;
    const servers = await Promise.all(
      [1, 2].map(() => startApiOn({ address, database, drop: async () => {} }, { rateLimit: 3 })),
    );
    extra.push(...servers);
    const [one, other] = servers as [Api, Api];
    const limitHeaders = ({ headers }: Answer) =>
      ["limit", "remaining", "scope"].map((name) => headers.get(`x-ratelimit-${name}`));
    const answers = await Promise.all(Array.from({ length: 30 }, () => one.admin.get("/account/details")));
    for (const answer of answers)
      expect(limitHeaders(answer)).toEqual(["3", expect.stringMatching(/^[0-3]$/), "server"]);
    expect(answers.some(({ status }) => status === 429)).toBe(true);
    // From the cache, too.
    for (const answer of [await other.admin.get("/account/details"), await other.admin.get("/account/details")]) {
      expect(answer.status).toBe(200);
      expect(limitHeaders(answer)).toEqual(["3", expect.stringMatching(/^[1-3]$/), "server"]);
      expect(Number(answer.headers.get("x-ratelimit-reset"))).toBe(0);
    }
    const unlimited = await api.admin.get("/account/details");
    expect(["scope", "remaining", "reset"].map((name) => unlimited.headers.get(`x-ratelimit-${name}`))).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("counts each caller separately", async () => {
    const { ownersTeamId } = await makeOrganization(api);
    const team = await makeTeamToken(api, ownersTeamId);
    const { address, database } = api;
    // A second server on the same register, because the test's setup must not be limited.
    const limited = await startApiOn({ address, database, drop: async () => {} }, { rateLimit: 1 });
    extra.push(limited);
    const answers = await Promise.all(Array.from({ length: 30 }, () => limited.admin.get("/account/details")));
    expect(answers.some((answer) => answer.status === 429)).toBe(true);
    expect((await limited.as(team.token).get("/account/details")).status).toBe(200);
  });

  it("throttles an address with failed sign-ins, but not callers with known tokens", async () => {
    const guarded = await startExtra({ failures: { burst: 5, perSecond: 0.001 } });
    expect((await guarded.admin.get("/account/details")).status).toBe(200);
    // One after the other: concurrent ones are looked up before any of them has failed.
    const guesses: Answer[] = [];
    for (let count = 0; count < 8; count += 1) guesses.push(await guarded.as(`guess-${count}`).get("/account/details"));
    expect(guesses.filter((answer) => answer.status === 429).length).toBeGreaterThan(0);
    expect((await guarded.as("one-more-guess").get("/account/details")).status).toBe(429);
    expect((await guarded.admin.get("/account/details")).status).toBe(200);
  });
});

describe("an https public URL", () => {
  const secure = useApi({ options: { publicUrl: "https://cadastre.example" } });

  it("adds Strict-Transport-Security to every response: documents, pages, errors and cached ones", async () => {
    const lasting = "max-age=31536000";
    const paths = [
      "/api/v2/ping",
      "/healthz",
      "/api/v2/nowhere",
      "/",
      "/app",
      "/app/acme",
      "/.well-known/terraform.json",
    ];
    for (const path of paths) {
      const answer = await fetch(`${secure.url}${path}`, { redirect: "manual" });
      expect([path, answer.headers.get("strict-transport-security")]).toEqual([path, lasting]);
    }
    for (let times = 0; times < 3; times += 1) {
      const answer = await secure.admin.get("/account/details");
      expect(answer.headers.get("strict-transport-security")).toBe(lasting);
    }
  });

  it("does not add Strict-Transport-Security over http, which would lock browsers out", async () => {
    expect((await fetch(`${api.url}/api/v2/ping`)).headers.get("strict-transport-security")).toBeNull();
  });
});
