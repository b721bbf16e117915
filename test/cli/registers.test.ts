/** Commands for users and tokens on both engines, and their errors for an unusable database. */
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { isPassword } from "../../src/kernel/passwords.ts";
import { tokenHash } from "../../src/kernel/ids.ts";
import { cadastre, dropRegistersAfterwards, newRegister, startService, stopService, useFolder } from "./support.ts";

dropRegistersAfterwards();
const folder = useFolder();

/** `migrate` only stores the check value of the key here: the database is a copy of a migrated one. */
async function migrated(engine: "sqlite" | "postgres") {
  const register = await newRegister(engine, true);
  expect((await cadastre(["migrate"], register)).code).toBe(0);
  return register;
}

const adminToken = "an-admin-who-is-locked-out";
const ada = ["user", "create", "--username", "Ada", "--email", "ada@acme.example"];

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  test("migrate creates the schema, and reports if there is nothing to do", async () => {
    const register = await newRegister(engine);
    expect((await cadastre(["migrate"], register)).out).toMatch(/up to date; applied 0001-foundation/);
    expect((await cadastre(["migrate"], register)).out).toBe("The database is up to date.");
  });

  test("users are created, listed and audited", async () => {
    const register = await migrated(engine);
    expect((await cadastre(["user", "list"], register)).out).toBe("There are no users.");
    expect((await cadastre([...ada, "--site-admin"], register)).out).toMatch(
      /^Created user Ada \(user-\w{16}\), a site admin\.$/,
    );
    const grace = await cadastre(
      ["user", "create", "--username", "grace", "--email", "g@acme.example", "--json"],
      register,
    );
    const row = { username: "grace", email: "g@acme.example", "is-site-admin": false };
    expect(JSON.parse(grace.out)).toMatchObject(row);
    expect((await cadastre(["user", "list"], register)).out).toMatch(
      /^ID +USERNAME  EMAIL +IS SITE ADMIN  CREATED AT\nuser-\w+  Ada       ada@acme\.example  yes            \S+\nuser-\w+  grace     g@acme\.example    no             \S+$/,
    );
    expect(JSON.parse((await cadastre(["user", "list", "--json"], register)).out)).toMatchObject([
      { username: "Ada" },
      row,
    ]);
    const events = await auditEvents(register);
    expect(events).toMatchObject([
      { action: "users.create", actorKind: "operator" },
      { action: "users.create", actorKind: "operator" },
    ]);
  });

  test("a user gets a password, which is shown once", async () => {
    const register = await migrated(engine);
    await cadastre(ada, register);
    const { code, out } = await cadastre(["user", "set-password", "ada"], register);
    expect({ code, out }).toEqual({
      code: 0,
      out: expect.stringMatching(/^New password for Ada \(shown only once\):\n\n {2}\w{5}(-\w{5}){3}$/),
    });
    const password = out.trim().split(/\s+/).at(-1) ?? "";
    const database = openDatabase(register.CADASTRE_DATABASE);
    const [stored] = await database.reader.db.selectFrom("passwords").select("hash").execute();
    await database.close();
    expect(await isPassword(password, stored?.hash)).toBe(true);
    expect(JSON.stringify(await auditEvents(register))).not.toContain(password);
    expect((await cadastre(["user", "set-password", "--user", "bob"], register)).code).toBe(1);
  });

  test("the signing key of run identities is rotated, with or without revoking older ones", async () => {
    const register = await migrated(engine);
    const first = await cadastre(["identity-key", "rotate"], register);
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(first.out).toMatch(/^The new signing key is idkey-\w{16}; no older key is published\.$/);
    expect((await cadastre(["identity-key", "rotate"], register)).out).toMatch(/; 1 older key is still published\.$/);
    const last = JSON.parse((await cadastre(["identity-key", "rotate", "--revoke", "--json"], register)).out);
    expect(last.published).toEqual([last.id]);
    expect(await auditEvents(register)).toMatchObject([
      { action: "identity-keys.rotate", actorKind: "operator" },
      { action: "identity-keys.rotate" },
      { action: "identity-keys.rotate" },
    ]);
  });

  test("a site agent pool is created with a token, which is shown once", async () => {
    const register = await migrated(engine);
    const { out } = await cadastre(["agent-pool", "create", "everybody"], register);
    expect(out).toMatch(
      /^Created agent pool everybody \(apool-\w{16}\)\. Token for its agents \(shown only once\):\n\n {2}cadastre-\S{43}\n$/,
    );
    const secret = out.trim().split(/\s+/).at(-1) ?? "";
    expect(await cadastre(["agent-pool", "create", "EVERYBODY"], register)).toMatchObject({
      code: 1,
      err: "Name has already been taken.",
    });
    const other = JSON.parse((await cadastre(["agent-pool", "create", "others", "--json"], register)).out);
    expect(other).toEqual({ id: expect.stringMatching(/^apool-/), name: "others", token: expect.any(String) });
    const database = openDatabase(register.CADASTRE_DATABASE);
    const hashes = await database.reader.db.selectFrom("agentTokens").select("hash").execute();
    await database.close();
    expect(hashes.map(({ hash }) => hash).toSorted()).toEqual([tokenHash(secret), tokenHash(other.token)].toSorted());
    expect(JSON.stringify(await auditEvents(register))).not.toContain(secret);
  });

  test("an invalid user is refused with all faults", async () => {
    const register = await migrated(engine);
    await cadastre(ada, register);
    expect(await cadastre(["user", "create", "--username", "aDA", "--email", "ADA@acme.example"], register)).toEqual({
      code: 1,
      out: "",
      err: "Username has already been taken. Email has already been taken.",
    });
    const bad = await cadastre(["user", "create", "--username", "a b", "--email", "nowhere"], register);
    expect(bad).toMatchObject({ code: 1, out: "" });
    expect(bad.err).toMatch(/^Username may only contain .*\. Email must be a valid email address\.$/);
  });

  test("a token is shown once, listed without its secret, and revoked", async () => {
    const register = await migrated(engine);
    await cadastre(ada, register);
    const made = await cadastre(["token", "create", "--user", "ada", "--description", "lap\u001btop"], register);
    const [, id = "", secret = ""] =
      /^Created token (at-\w+) for Ada; it never expires[\s\S]*(cadastre-\S{43})/.exec(made.out) ?? [];
    expect(await hashes(register)).toEqual([tokenHash(secret)]);
    const listed = await cadastre(["token", "list", "--user", "ADA"], register);
    expect(listed.out).toContain(`${id}  user  Ada     lap top`);
    expect(listed.out).not.toContain(secret);
    expect(await cadastre(["token", "revoke", id], register)).toEqual({
      code: 0,
      out: `Revoked token ${id}.`,
      err: "",
    });
    expect((await cadastre(["token", "list"], register)).out).toBe("There are no tokens.");
    expect((await cadastre(["token", "revoke", id], register)).err).toBe(
      `There is no token '${id}'. Run 'cadastre token list' to see all ids.`,
    );
    const actions = (await auditEvents(register)).map(({ action }) => action);
    expect(actions.sort()).toEqual(["authentication-tokens.create", "authentication-tokens.delete", "users.create"]);
  });

  test("an owners team gets a token, also if the organization refuses user tokens", async () => {
    const register = await migrated(engine);
    const service = await startService({ ...register, CADASTRE_ADMIN_TOKEN: adminToken });
    const call = (token: string, path: string, method = "GET", body?: object) =>
      fetch(`${service.url}/api/v2${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/vnd.api+json" },
        ...(body && { body: JSON.stringify(body) }),
      });
    const organization = (attributes: object) => ({ data: { type: "organizations", attributes } });
    await call(adminToken, "/organizations", "POST", organization({ name: "acme", email: "a@example.com" }));
    const made = await cadastre(["token", "create", "--owners-of", "ACME", "--json"], register);
    const { token, kind } = JSON.parse(made.out);
    expect(kind).toBe("team");
    await call(token, "/organizations/acme", "PATCH", organization({ "user-tokens-enabled": false }));
    expect((await call(adminToken, "/organizations/acme")).status).toBe(401);
    expect((await call(token, "/organizations/acme")).status).toBe(200);
    expect((await stopService(service)).code).toBe(0);
    const unknown = await cadastre(["token", "create", "--owners-of", "nobody"], register);
    expect(unknown).toMatchObject({ code: 1, err: "There is no organization 'nobody'." });
  });

  test("a token's expiry can be a duration or a timestamp", async () => {
    const register = await migrated(engine);
    await cadastre(ada, register);
    const create = async (...words: string[]) =>
      cadastre(["token", "create", "--user", "ada", "--json", ...words], register);
    const daily = JSON.parse((await create("--expires-in", "30d")).out);
    expect(Date.parse(daily["expired-at"]) - Date.parse(daily["created-at"])).toBeGreaterThan(29 * 24 * 3_600_000);
    const fixed = JSON.parse((await create("--expires-at", "2090-01-31T12:00:00+01:00")).out);
    expect(fixed["expired-at"]).toBe("2090-01-31T11:00:00.000Z");
    expect((await create("--expires-at", "2020-01-31T12:00:00Z")).err).toBe("Expired at must be in the future.");
    expect((await create("--expires-at", "tomorrow")).err).toMatch(/^Expired at must be a timestamp/);
    expect(JSON.parse((await cadastre(["token", "list", "--json"], register)).out)).toHaveLength(2);
  });

  test("an unknown user is refused by name", async () => {
    const register = await migrated(engine);
    for (const command of [
      ["token", "create"],
      ["token", "list"],
    ]) {
      expect(await cadastre([...command, "--user", "bob"], register)).toMatchObject({
        code: 1,
        err: "There is no user 'bob'. Run 'cadastre user list' to see all users.",
      });
    }
  });

  test("a database without a register is refused, and none is created", async () => {
    const register = await newRegister(engine);
    const listed = await cadastre(["user", "list"], register);
    expect(listed).toMatchObject({ code: 1, out: "" });
    expect(listed.err).toMatch(/^The database .* has no Cadastre schema yet\. Check CADASTRE_DATABASE, or create it/);
    if (engine === "sqlite") expect(existsSync(register.CADASTRE_DATABASE.slice("sqlite:".length))).toBe(false);
  });

  test("another encryption key is refused", async () => {
    const register = await migrated(engine);
    const other = { ...register, CADASTRE_ENCRYPTION_KEY: "f".repeat(64) };
    for (const words of [["migrate"], ["user", "list"], ["backup", join(folder, "never")]]) {
      const refused = await cadastre(words, other);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toMatch(
        /^The encryption key is not this database's key, whose id is [0-9a-f]{16}\. Set CADASTRE_ENCRYPTION_KEY to that key\.$/,
      );
    }
  });

  test("a newer and an older database are refused", async () => {
    const register = await migrated(engine);
    await changeMigrations(register, "9999-tomorrow");
    for (const words of [["migrate"], ["user", "list"], ["backup", join(folder, "never")]]) {
      const { code, err } = await cadastre(words, register);
      expect(code).toBe(1);
      expect(err).toMatch(/^A newer version of Cadastre has migrated the database \(it has 9999-tomorrow\)\./);
    }
    await changeMigrations(register, undefined);
    expect((await cadastre(["user", "list"], register)).err).toMatch(
      /^The database has the schema of an older version of Cadastre \(missing migrations: 0001-foundation.*run 'cadastre migrate'/,
    );
  });
});

describe("an unusable database is reported in one line", () => {
  const list = (database: string, key = "a".repeat(64)) =>
    cadastre(["user", "list"], { CADASTRE_DATABASE: database, CADASTRE_ENCRYPTION_KEY: key });

  test("an unreachable PostgreSQL, without its password", async () => {
    const { code, err } = await list("postgres://ada:s3cr@t@127.0.0.1:1/nothing");
    expect(code).toBe(1);
    expect(err).toMatch(/^The database postgres:\/\/ada:…@127\.0\.0\.1:1\/nothing can't be reached \(.*\)\. Check/);
    expect(err).not.toMatch(/s3cr|\n/);
  });

  test("PostgreSQL without a key", async () => {
    expect((await list("postgres://127.0.0.1:1/nothing", "")).err).toMatch(
      /^CADASTRE_ENCRYPTION_KEY is required with PostgreSQL/,
    );
  });

  test("a file that is not a database, and a directory", async () => {
    const file = join(folder, "letter.txt");
    writeFileSync(file, "Dear Ada, this is not a database, and will never be one.".repeat(20));
    expect((await list(`sqlite:${file}`)).err).toMatch(
      /^The database sqlite:.*letter\.txt is damaged, or is not a Cadastre database/,
    );
    for (const key of ["a".repeat(64), ""])
      expect((await list(`sqlite:${folder}`, key)).err).toBe(
        `CADASTRE_DATABASE names a folder, ${folder}. Name a file in it: sqlite:${folder}/cadastre.db.`,
      );
    expect(existsSync(`${folder}.key`)).toBe(false);
  });

  test("an embedded database without its key file; no new one is created", async () => {
    const path = join(folder, "keyless.db");
    const settings = { CADASTRE_DATABASE: `sqlite:${path}` };
    await cadastre(["migrate"], settings);
    rmSync(`${path}.key`);
    for (const words of [["user", "list"], ["serve"]]) {
      expect((await cadastre(words, settings)).err).toBe(
        `The encryption key of the database ${path} is missing. Set CADASTRE_ENCRYPTION_KEY, or put the key file back at ${path}.key.`,
      );
    }
    expect(existsSync(`${path}.key`)).toBe(false);
  });
});

test("flags take precedence over the environment, and the environment over the file", async () => {
  const addresses = ["flag", "environment", "file"].map((name) => `sqlite:${join(folder, name)}`);
  const [flag = "", environment = "", file = ""] = addresses;
  const config = join(folder, "settings");
  writeFileSync(config, `CADASTRE_DATABASE=${file}\n`);
  const named = async (words: string[], variables = {}) =>
    /^The database (\S+) has no /.exec((await cadastre(["user", "list", ...words], variables)).err)?.[1];
  expect(await named(["--config", config])).toBe(file);
  expect(await named([], { CADASTRE_CONFIG: config })).toBe(file);
  expect(await named(["--config", config], { CADASTRE_DATABASE: environment })).toBe(environment);
  expect(await named(["--config", config, "--database", flag], { CADASTRE_DATABASE: environment })).toBe(flag);
});

async function onDatabase<T>(
  register: { CADASTRE_DATABASE: string },
  work: (database: ReturnType<typeof openDatabase>) => Promise<T>,
): Promise<T> {
  const database = openDatabase(register.CADASTRE_DATABASE);
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

const auditEvents = (register: { CADASTRE_DATABASE: string }) =>
  onDatabase(register, ({ reader }) => reader.db.selectFrom("auditEvents").selectAll().orderBy("createdAt").execute());

const hashes = (register: { CADASTRE_DATABASE: string }) =>
  onDatabase(register, async ({ reader }) =>
    (await reader.db.selectFrom("tokens").select("hash").execute()).map(({ hash }) => hash),
  );

/** Makes the database look like that of another version. */
const changeMigrations = (register: { CADASTRE_DATABASE: string }, name: string | undefined) =>
  onDatabase(register, (database) =>
    database.write(async ({ db }) => {
      if (name === undefined) await db.deleteFrom("migrations").execute();
      else await db.insertInto("migrations").values({ name, appliedAt: "2090-01-01T00:00:00.000Z" }).execute();
    }),
  );
