/** What the service tells clients, and those who run it, about itself. */
import { describe, expect, it, afterAll } from "vitest";
import { type Api, startApi, useApi } from "../support/api.ts";
import { makeOrganization, makeTeamToken, makeUser } from "../support/builders.ts";

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

describe("health", () => {
  it("is alive and ready", async () => {
    expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
  });

  it("shows metrics to the metrics token and to site admins, and to nobody else", async () => {
    const read = async (token?: string) =>
      fetch(`${api.url}/metrics`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    expect((await read()).status).toBe(401);
    expect((await read((await makeUser(api)).token)).status).toBe(404);
    expect((await read("metrics-token-0123456789")).status).toBe(200);
    const text = await (await read(api.admin.token)).text();
    expect(text).toMatch(
      /cadastre_http_requests_total\{method="POST",route="\/api\/v2\/admin\/users",status="201"\} \d+/,
    );
    for (const name of [
      "cadastre_http_request_duration_seconds_bucket",
      "cadastre_database_statements_total",
      'cadastre_database_connections{state="open"}',
      "cadastre_event_loop_lag_seconds",
    ]) {
      expect(text).toContain(name);
    }
  });
});

describe("limits", () => {
  it("holds a caller to the rate limit: 429 with Retry-After and a number in X-RateLimit-Reset", async () => {
    const limited = await startExtra({ rateLimit: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => limited.admin.get("/account/details")));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(answers.some((answer) => answer.status === 200)).toBe(true);
    expect(refused[0]?.headers.get("x-ratelimit-limit")).toBe("3");
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused[0]?.headers.get("x-ratelimit-reset"))).toBeGreaterThan(0);
  });

  it("counts each caller by itself", async () => {
    const limited = await startExtra({ rateLimit: 30 });
    const { ownersTeamId } = await makeOrganization(limited);
    const team = await makeTeamToken(limited, ownersTeamId);
    const answers = await Promise.all(Array.from({ length: 90 }, () => limited.admin.get("/account/details")));
    expect(answers.some((answer) => answer.status === 429)).toBe(true);
    expect((await team.get("/account/details")).status).toBe(200);
  });

  it("slows down an address that fails to sign in, but not those who have signed in from it", async () => {
    const guarded = await startExtra({ failures: { burst: 5, perSecond: 0.001 } });
    expect((await guarded.admin.get("/account/details")).status).toBe(200);
    const guesses = await Promise.all(
      Array.from({ length: 20 }, (_, index) => guarded.as(`guess-${index}`).get("/account/details")),
    );
    expect(guesses.filter((answer) => answer.status === 429).length).toBeGreaterThan(0);
    expect((await guarded.as("one-more-guess").get("/account/details")).status).toBe(429);
    expect((await guarded.admin.get("/account/details")).status).toBe(200);
  });
});
