/** `/app`: the console's files, and the content security policy of its pages. */
import { describe, expect, test } from "vitest";
import { useApi } from "../support/api.ts";

const script = `console.log("${"x".repeat(2_000)}")`;
const built = new Map([
  [
    "index.html",
    Buffer.from(
      '<!doctype html><html data-frame="FRAME" data-session="SESSION" data-mantine-color-scheme="SCHEME"><meta property="csp-nonce" nonce="NONCE"><script src="/app/~/assets/a.js"></script>',
    ),
  ],
  ["~/assets/a.js", Buffer.from(script)],
  ["icon.svg", Buffer.from("<svg/>")],
]);
let failure: string | undefined;
let files: ReadonlyMap<string, Buffer> | undefined = built;

const api = useApi({ console: { files: () => files, failure: () => failure } });
const bare = useApi();
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(api.url + path, { headers, redirect: "manual" });

describe("a browser", () => {
  test("is redirected from / to the console; a program is not", async () => {
    const led = await get("/", { accept: "text/html,*/*" });
    expect([led.status, led.headers.get("location")]).toEqual([302, "/app/"]);
    expect((await get("/", { accept: "application/json" })).status).toBe(200);
  });

  test.each(["/app", "/app/", "/app/acme/workspaces/network", "/app/index.html", "/app/~/account?page=2"])(
    "gets the console's page at %s, with a policy whose mark is the page's own",
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      const nonce = /nonce="([^"]+)"/.exec(await answer.text())?.[1];
      const policy = answer.headers.get("content-security-policy")?.split("; ") ?? [];
      expect(policy).toContain("script-src 'self'");
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
      expect(policy.join()).not.toContain("unsafe");
    },
  );

  test("gets another nonce with every page", async () => {
    const [one, two] = await Promise.all([get("/app/"), get("/app/")]);
    expect(await one!.text()).not.toBe(await two!.text());
  });

  test.each([
    ["/app/acme/workspaces", "cadastre_session=x", "organization", "maybe", "auto"],
    ["/app/acme", "cadastre_session=x; cadastre_scheme=dark", "organization", "maybe", "dark"],
    ["/app/", "cadastre_scheme=light; cadastre_session=x", "site", "maybe", "light"],
    ["/app/~/account", "cadastre_session=x; cadastre_scheme=<b>", "site", "maybe", "auto"],
    ["/app/acme", "", "outside", "none", "auto"],
    ["/app/~/sign-in", "cadastre_session=x", "outside", "maybe", "auto"],
    ["/app/invitations/cadastre-secret", "", "outside", "none", "auto"],
  ])(
    "gets at %s with the cookies “%s” a page with the frame %s, a session %s, and colours %s",
    async (path, cookie, ...expected) => {
      const html = await (await get(path, { cookie })).text();
      const [, ...found] = /data-frame="(.*?)" data-session="(.*?)" data-mantine-color-scheme="(.*?)"/.exec(html) ?? [];
      expect(found).toEqual(expected);
    },
  );

  test("can cache hashed assets forever, and gets them compressed", async () => {
    for (const encoding of ["br", "gzip"]) {
      const answer = await get("/app/~/assets/a.js", { "accept-encoding": encoding });
      expect(answer.headers.get("content-encoding")).toBe(encoding);
      expect(answer.headers.get("vary")).toBe("accept-encoding");
      expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(answer.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
      expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
      // Node's client decompresses it.
      expect(await answer.text()).toBe(script);
    }
    const plain = await get("/app/icon.svg", { "accept-encoding": "identity" });
    expect([plain.headers.get("content-encoding"), plain.headers.get("cache-control")]).toEqual([
      null,
      "public, max-age=3600",
    ]);
    expect(plain.headers.get("content-type")).toBe("image/svg+xml");
  });

  test("gets 404 for an unknown asset, and can't leave the folder", async () => {
    expect((await get("/app/~/assets/gone.js")).status).toBe(404);
    const answer = await get("/app/~/assets/..%2f..%2fpackage.json");
    expect([200, 404]).toContain(answer.status);
    expect(await answer.text()).not.toContain("dependencies");
  });
});

describe("before the console is built", () => {
  test("a page says so and reloads; after a failed build it shows the reason as text", async () => {
    files = undefined;
    try {
      const waiting = await get("/app/acme");
      expect([waiting.status, waiting.headers.get("refresh")]).toEqual([503, "1"]);
      expect(await waiting.text()).toContain("being built");
      failure = "It could not be built: <script>";
      const failed = await get("/app/acme");
      expect([failed.status, failed.headers.get("refresh")]).toEqual([503, null]);
      expect(await failed.text()).toContain("It could not be built: &#60;script&#62;");
    } finally {
      [files, failure] = [built, undefined];
    }
  });
});

test("a service without a console answers 404", async () => {
  const answer = await fetch(`${bare.url}/app/acme`);
  expect(answer.status).toBe(404);
  expect(((await answer.json()) as any).errors[0].title).toBe("not found");
});
