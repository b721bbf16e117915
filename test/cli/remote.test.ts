/** Commands that call a running server's API with a token instead of opening the database. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  account,
  cadastre,
  dropRegistersAfterwards,
  newRegister,
  type Service,
  startService,
  stopService,
  useFolder,
} from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();
const adminToken = "the-token-of-the-first-admin";

describe.each(["sqlite", "postgres"] as const)("over the API of a server on %s", (engine) => {
  let service: Service;
  /** Without a database, so that everything goes over the API. */
  let remote: Record<string, string>;
  beforeAll(async () => {
    const register = await newRegister(engine, true);
    service = await startService({ ...register, CADASTRE_ADMIN_TOKEN: adminToken, CADASTRE_LOG_LEVEL: "fatal" });
    remote = {
      CADASTRE_ADDRESS: service.url,
      CADASTRE_TOKEN: adminToken,
      CADASTRE_DATABASE: `sqlite:${join(folder, "none.db")}`,
    };
  });
  afterAll(() => stopService(service));

  test("users are created and listed", async () => {
    const added = await cadastre(["user", "create", "grace", "--email", "grace@acme.example"], remote);
    expect(added).toMatchObject({
      code: 0,
      err: "",
      out: expect.stringMatching(/^Created user grace \(user-\w{16}\)/),
    });
    const { out } = await cadastre(["user", "list", "--json"], remote);
    expect(JSON.parse(out)).toMatchObject([
      { username: "admin", "is-site-admin": true },
      { username: "grace", email: "grace@acme.example", "is-site-admin": false, "created-at": expect.any(String) },
    ]);
  });

  test("tokens are created, listed and revoked with the permissions of the token", async () => {
    const made = await cadastre(["token", "create", "Grace", "--description", "laptop", "--json"], remote);
    const { token, id, holder } = JSON.parse(made.out);
    expect(holder).toBe("grace");
    expect((await account(service.url, token)).status).toBe(200);

    const path = join(folder, `token-${engine}`);
    writeFileSync(path, `${token}\n`);
    const own = ["--address", service.url, "--token-file", path];
    expect(JSON.parse((await cadastre(["token", "list", "--json", ...own])).out)).toMatchObject([
      { id, kind: "user", holder: "grace", description: "laptop", "expired-at": null },
    ]);
    expect(await cadastre(["token", "list", "grace", ...own])).toMatchObject({
      code: 0,
      out: expect.stringContaining(id),
    });
    expect(await cadastre(["user", "list", ...own])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/site admin|not allowed/),
    });
    expect(await cadastre(["token", "list", "admin", ...own])).toMatchObject({ code: 1 });

    expect((await cadastre(["token", "revoke", id], remote)).out).toBe(`Revoked token ${id}.`);
    expect((await account(service.url, token)).status).toBe(401);
    expect(await cadastre(["token", "list", ...own])).toMatchObject({
      code: 1,
      err: `${service.url}/api/v2 rejected the token. Check CADASTRE_TOKEN.`,
    });
  });

  test("a token of an owners team is created", async () => {
    const headers = { authorization: `Bearer ${adminToken}`, "content-type": "application/vnd.api+json" };
    const attributes = { name: `acme-${engine}`, email: "acme@acme.example" };
    const body = JSON.stringify({ data: { type: "organizations", attributes } });
    expect((await fetch(`${service.url}/api/v2/organizations`, { method: "POST", headers, body })).status).toBe(201);
    const { out } = await cadastre(["token", "create", "--owners-of", attributes.name, "--json"], remote);
    expect(JSON.parse(out)).toMatchObject({ kind: "team", holder: `the owners of ${attributes.name}` });
    expect((await account(service.url, JSON.parse(out).token)).status).toBe(200);
  });

  test("a site agent pool is created with its token", async () => {
    const { out } = await cadastre(["agent-pool", "create", "everybody", "--json"], remote);
    expect(JSON.parse(out)).toEqual({
      id: expect.stringMatching(/^apool-/),
      name: "everybody",
      token: expect.stringMatching(/^cadastre-/),
    });
    const again = await cadastre(["agent-pool", "create", "everybody"], remote);
    expect(again).toMatchObject({ code: 1, err: "Name has already been taken." });
  });
});

test("an address requires a token and vice versa", async () => {
  expect(await cadastre(["token", "list"], { CADASTRE_TOKEN: adminToken })).toMatchObject({
    code: 1,
    err: "CADASTRE_ADDRESS and CADASTRE_TOKEN go together: set both or neither.",
  });
});

test("a database flag takes precedence over an address in the environment", async () => {
  const remote = { CADASTRE_ADDRESS: "http://127.0.0.1:1", CADASTRE_TOKEN: adminToken };
  const database = ["--database", `sqlite:${join(folder, "flag.db")}`];
  expect((await cadastre(["migrate", ...database], remote)).code).toBe(0);
  expect(await cadastre(["user", "list", ...database], remote)).toEqual({
    code: 0,
    out: "There are no users.",
    err: "",
  });
  const file = join(folder, "flag-database");
  writeFileSync(file, database.at(1) ?? "");
  expect((await cadastre(["user", "list", "--database-file", file], remote)).out).toBe("There are no users.");
  expect(await cadastre(["user", "list", ...database, "--address", "http://127.0.0.1:1"], remote)).toMatchObject({
    code: 2,
    err: "--database and --address can't be combined. Give one of them.",
  });
});

test("an unreachable server is reported in a sentence", async () => {
  const { code, err } = await cadastre(["user", "list"], {
    CADASTRE_ADDRESS: "http://127.0.0.1:1",
    CADASTRE_TOKEN: adminToken,
  });
  expect(code).toBe(1);
  expect(err).toMatch(/^The request to http:\/\/127\.0\.0\.1:1\/api\/v2 failed \(.+\)\. Check CADASTRE_ADDRESS\.$/);
});
