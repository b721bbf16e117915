/** The checks that every request passes, on every route. */
import { request as rawRequest } from "node:http";
import { describe, expect, it } from "vitest";
import { type Api, mediaType, startApi, useApi } from "../support/api.ts";
import { details, makeOrganization, pointers, resource } from "../support/builders.ts";
import { sendRaw } from "../support/raw-request.ts";

const api = useApi();
const newOrganization = (name: string) => resource("organizations", { name, email: "a@example.com" });

describe("every response", () => {
  it("has the API version, the rate limit, a request id and no-store", async () => {
    const answer = await api.admin.get("/account/details");
    expect(answer.headers.get("tfp-api-version")).toBe("2.6");
    expect(answer.headers.get("x-ratelimit-limit")).toBe("0");
    expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    expect(answer.headers.get("content-type")).toBe(mediaType);
  });

  it("has the Terraform Enterprise release in both forms", async () => {
    for (const answer of [
      await api.admin.get("/account/details"),
      await api.nobody.get("/ping"),
      await api.nobody.get("/x"),
    ]) {
      expect(answer.headers.get("x-tfe-version")).toMatch(/^v20\d{4}-\d+$/);
      expect(answer.headers.get("x-tfe-current-version")).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  it("has the name HCP Terraform only in the hosted edition", async () => {
    const hosted = await startApi({ options: { edition: "hosted" } });
    const answersOf = async ({ admin, nobody, url }: Pick<Api, "admin" | "nobody" | "url">) => [
      await admin.get("/account/details"),
      await nobody.get("/ping"),
      await nobody.get("/account/details"),
      await admin.get("/organizations/%zz"),
      await sendRaw(url, "NOTHING\r\n\r\n"),
    ];
    for (const answer of await answersOf(hosted)) {
      expect(answer.headers.get("tfp-appname")).toBe("HCP Terraform");
      expect(answer.headers.get("x-tfe-version")).toBeTruthy();
    }
    for (const answer of await answersOf(api)) {
      expect(answer.headers.get("tfp-appname")).toBeNull();
      expect(answer.headers.get("x-tfe-version")).toBeTruthy();
    }
    await hosted.stop();
  });

  it("has these headers also on errors", async () => {
    const answer = await api.nobody.get("/account/details");
    expect(answer.status).toBe(401);
    expect(answer.headers.get("tfp-api-version")).toBe("2.6");
    expect(answer.headers.get("x-request-id")).toBeTruthy();
    expect(answer.body.errors[0]).toMatchObject({ status: "401", title: "unauthorized" });
  });
});

describe("authentication", () => {
  it.each([
    ["no header", {}],
    ["another scheme", { authorization: "Basic YTpi" }],
    ["an unknown token", { authorization: "Bearer cadastre-unknown" }],
    ["an empty token", { authorization: "Bearer " }],
    ["a token that is far too long", { authorization: `Bearer ${"a".repeat(4000)}` }],
  ])("refuses %s with 401", async (_, headers: Record<string, string>) => {
    const answer = await api.nobody.get("/account/details", headers);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  it("refuses before reading the body", async () => {
    expect((await api.nobody.post("/organizations", "{", {})).status).toBe(401);
    expect((await api.nobody.post("/organizations", "x", { "content-type": "text/plain" })).status).toBe(401);
  });

  it("can't be bypassed by another spelling of the path", async () => {
    for (const path of [
      "/%61pi/v2/openapi.json",
      "/%61pi/v2/organizations",
      "/api/v%32/organizations",
      "/api/v2/organizations/",
    ]) {
      expect((await fetch(api.url + path)).status, path).toBe(401);
      const headers = { authorization: `Bearer ${api.admin.token}` };
      expect((await fetch(api.url + path, { headers })).status, path).toBe(200);
    }
  });

  it("does not reveal whether a path exists", async () => {
    expect((await api.nobody.get("/no/such/path")).status).toBe(401);
    expect((await api.admin.get("/no/such/path")).status).toBe(404);
  });
});

describe("bodies", () => {
  it("must be JSON: 400", async () => {
    const answer = await api.admin.post("/organizations", "{");
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].title).toBe("bad request");
  });

  it("must be UTF-8: 400", async () => {
    const response = await fetch(`${api.url}/api/v2/organizations`, {
      method: "POST",
      headers: { authorization: `Bearer ${api.admin.token}`, "content-type": mediaType },
      body: new Uint8Array([0x22, 0xff, 0x22]),
    });
    expect(response.status).toBe(400);
  });

  it.each(["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])(
    "of the media type %s are refused: 415",
    async (type) => {
      const answer = await api.admin.post("/organizations", newOrganization("media-type"), { "content-type": type });
      expect(answer.status).toBe(415);
      expect(details(answer)[0]).toContain(mediaType);
    },
  );

  it.each([mediaType, "application/json", "application/vnd.api+json; charset=utf-8"])(
    "of the media type %s are accepted",
    async (type) => {
      const name = `type-${Math.random().toString(36).slice(2, 10)}`;
      expect((await api.admin.post("/organizations", newOrganization(name), { "content-type": type })).status).toBe(
        201,
      );
    },
  );

  it("larger than 1 MiB are refused: 413", async () => {
    const answer = await api.admin.post("/organizations", JSON.stringify({ data: "x".repeat(1024 * 1024) }));
    expect(answer.status).toBe(413);
    expect(answer.body.errors[0].status).toBe("413");
  });

  it("nested more than 16 levels deep are refused: 422", async () => {
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
    expect((await api.admin.post("/organizations", { data: deep(40) })).status).toBe(422);
    const absurd = `{"data":${"[".repeat(90_000)}${"]".repeat(90_000)}}`;
    expect((await api.admin.post("/organizations", absurd)).status).toBe(422);
  });

  it("with more than 100,000 members are refused before parsing: 413; long strings are accepted", async () => {
    const many = await api.admin.post("/organizations", `{"data":[${"[],".repeat(60_000)}[]]}`);
    expect(many.status).toBe(413);
    expect(details(many)).toEqual(["The body has more than 100000 members and items. Send a smaller body."]);
    const text = ',[{\\"'.repeat(100_000);
    expect((await api.admin.post("/organizations", `{"data":{"type":"${text}"}}`)).status).toBe(422);
  });

  it("with U+0000 or half a surrogate pair are refused with a pointer: 422", async () => {
    const zero = await api.admin.post("/organizations", resource("organizations", { name: "a\0b", email: "a@b" }));
    expect(zero.status).toBe(422);
    expect(pointers(zero)).toContain("/data/attributes/name");
    const half = await api.admin.post(
      "/organizations",
      '{"data":{"type":"organizations","attributes":{"name":"\\ud800x"}}}',
    );
    expect(half.status).toBe(422);
    const inName = await api.admin.post("/organizations", '{"data":{"a\\u0000":1}}');
    expect(inName.status).toBe(422);
  });

  it.each([["null"], ["[]"], ["1"], ['"text"'], ["{}"], ['{"data":null}'], ['{"data":[]}']])(
    "of the wrong shape are refused with a pointer: 422 for %s",
    async (body) => {
      const answer = await api.admin.post("/organizations", body);
      expect(answer.status).toBe(422);
      expect(pointers(answer)).toEqual(["/data"]);
    },
  );

  it("that are missing are refused: 422", async () => {
    expect((await api.admin.post("/organizations")).status).toBe(422);
    expect((await api.admin.post("/organizations", "", { "content-type": mediaType })).status).toBe(422);
  });

  it("can't change prototypes", async () => {
    const body =
      '{"data":{"type":"organizations","attributes":{"__proto__":{"name":"polluted"},"constructor":{},"email":"a@b.c"}}}';
    const answer = await api.admin.post("/organizations", body);
    expect(answer.status).toBe(422);
    expect(pointers(answer)).toEqual(["/data/attributes/name"]);
  });
});

describe("queries", () => {
  it("may have plain or percent-encoded brackets", async () => {
    const { name, owner } = await makeOrganization(api);
    const plain = await owner.get(`/organizations/${name}/projects?page[size]=1`);
    const encoded = await owner.get(`/organizations/${name}/projects?page%5Bsize%5D=1`);
    expect(plain.body.meta.pagination["page-size"]).toBe(1);
    expect(encoded.body.meta.pagination["page-size"]).toBe(1);
  });

  it("longer than 8 KiB are refused: 400", async () => {
    expect((await api.admin.get(`/organizations?q=${"a".repeat(9000)}`)).status).toBe(400);
  });

  it("that can't be decoded are refused: 400", async () => {
    expect((await api.admin.get("/organizations?q=%zz")).status).toBe(400);
    expect((await api.admin.get("/organizations?q=%ff")).status).toBe(400);
  });

  it("with unstorable characters are refused by name: 400", async () => {
    const answer = await api.admin.get("/organizations?q=%00");
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source).toEqual({ parameter: "q" });
  });

  it("with a parameter given twice are refused by name: 400", async () => {
    const answer = await api.admin.get("/organizations?page[number]=1&page[number]=2");
    expect(answer.status).toBe(400);
    expect(answer.body.errors[0].source).toEqual({ parameter: "page[number]" });
  });

  it("report all invalid parameters together", async () => {
    const { name, owner } = await makeOrganization(api);
    const answer = await owner.get(`/organizations/${name}/projects?page[number]=0&page[size]=x&sort=age&include=cats`);
    expect(answer.status).toBe(400);
    expect(pointers(answer).toSorted()).toEqual(["include", "page[number]", "page[size]", "sort"]);
  });

  it("with unknown parameters are accepted, because clients send them", async () => {
    expect((await api.admin.get("/organizations?cache=1&filter[cats]=all")).status).toBe(200);
  });
});

describe("answers", () => {
  it("contain links without a host, also if the request names another one", async () => {
    const { hostname, port } = new URL(api.url);
    const headers = { authorization: `Bearer ${api.admin.token}` };
    const body = await new Promise<string>((resolve, reject) => {
      rawRequest({ hostname, port, path: "http://evil.example/api/v2/organizations", headers }, (response) => {
        let text = "";
        response.on("data", (chunk: Buffer) => (text += chunk.toString())).on("end", () => resolve(text));
      })
        .on("error", reject)
        .end();
    });
    expect(JSON.parse(body).links.self).toMatch(/^\/api\/v2\/organizations/);
    expect(body).not.toContain("evil.example");
  });

  it("have a request id also if the path is invalid", async () => {
    const answer = await fetch(`${api.url}/api/v2/organizations/${"x".repeat(600)}`);
    expect(answer.headers.get("x-request-id")).toBeTruthy();
  });
});

describe("paths", () => {
  it.each(["/organizations/%zz", "/organizations/%ff"])(
    "that can't be decoded are refused: 400 for %s",
    async (path) => {
      expect(await rawStatus(path)).toBe(400);
    },
  );

  it.each([
    "/organizations/%00",
    `/projects/${"x".repeat(400)}`,
    `/projects/${"x".repeat(4000)}`,
    "/projects/%F0%9F%8D%84",
  ])("that match no route are 404: %s", async (path) => {
    expect((await api.admin.get(path)).status).toBe(404);
  });

  /** Without a URL parser, which would correct the path. */
  async function rawStatus(path: string): Promise<number | undefined> {
    const { hostname, port } = new URL(api.url);
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${api.admin.token}` };
      rawRequest({ hostname, port, path: `/api/v2${path}`, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
  }
});
