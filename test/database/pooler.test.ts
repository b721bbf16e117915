/** PgBouncer in transaction mode between a server and PostgreSQL; runs where it is installed (Debian: `pgbouncer`). */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { addFirstAdmin, startApiOn } from "../support/api.ts";
import { data, makeOrganization, makeWorkspace, resource, unique } from "../support/builders.ts";
import { newAddress } from "../support/database.ts";
import { newFolder } from "../support/folder.ts";

const program = "/usr/sbin/pgbouncer";
const isInstalled = inject("engine") === "postgres" && spawnSync(program, ["--version"]).error === undefined;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

describe.skipIf(!isInstalled)("behind PgBouncer in transaction mode with two connections", () => {
  const folder = isInstalled ? newFolder("cadastre-pooler-") : "";
  let pooler: ChildProcess;
  let drop: () => Promise<void>;
  let address: string;
  const opened: Database[] = [];

  beforeAll(async () => {
    const direct = await newAddress("postgres");
    drop = direct.drop;
    const { hostname, port, username, password, pathname } = new URL(direct.address);
    const [own, name] = [await freePort(), pathname.slice(1)];
    const settings = join(folder, "pgbouncer.ini");
    const given = password === "" ? "" : `password=${decodeURIComponent(password)}`;
    writeFileSync(
      settings,
      `[databases]
${name} = host=${hostname} port=${port} user=${username} ${given}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
`,
    );
    chmodSync(folder, 0o755);
    chmodSync(settings, 0o644);
    // It refuses to run as root.
    const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
    pooler = spawn(program, ["-q", ...user, settings], { stdio: "ignore" });
    while (!(await answers(own))) await sleep(20);
    address = `postgres://${username}@127.0.0.1:${own}/${name}`;
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    pooler.kill("SIGKILL");
    await once(pooler, "close");
    await drop();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = () => {
    const database = openDatabase(address);
    opened.push(database);
    return database;
  };

  it("servers create the schema, serve requests, and share the connections", async () => {
    const [one, other] = [open(), open()];
    await Promise.all([migrate(one), migrate(other)]);
    await addFirstAdmin(one);
    const servers = await Promise.all(
      [one, other].map((database) => startApiOn({ address, database, drop: async () => {} })),
    );
    const [first] = servers as [(typeof servers)[0]];
    const { name, owner } = await makeOrganization(first);
    const names = Array.from({ length: 40 }, () => unique("ws"));
    await Promise.all(
      names.map(async (each, position) => {
        const server = servers[position % 2] as (typeof servers)[0];
        const path = `/organizations/${name}/workspaces`;
        const { id } = data(await server.as(owner.token).post(path, resource("workspaces", { name: each })));
        expect((await server.as(owner.token).get(`/workspaces/${id}`)).body.data.attributes.name).toBe(each);
      }),
    );
    const { body } = await first.as(owner.token).get(`/organizations/${name}/workspaces?page[size]=100`);
    expect(body.data.map((each: never) => each["attributes"]["name"]).toSorted()).toEqual(names.toSorted());
    const locked = await makeWorkspace(first, name);
    const locks = await Promise.all(
      [...servers, ...servers].map((each) => each.as(owner.token).post(`/workspaces/${locked.id}/actions/lock`)),
    );
    expect(locks.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409]);
    await Promise.all(servers.map((server) => server.stop()));
  });

  it("transactions have timeouts, which don't leak to the next user of the connection", async () => {
    const database = open();
    const limit = async (db: Database["reader"]["db"]) =>
      (await sql<{ limit: string }>`select current_setting('lock_timeout') as "limit"`.execute(db)).rows[0]?.limit;
    expect(await database.write(({ db }) => limit(db))).toBe("15s");
    expect(await database.write(({ db }) => limit(db), { hasNoTimeout: true })).toBe("0");
    for (let count = 0; count < 6; count += 1) expect(await limit(database.reader.db)).toBe("0");
    expect(
      await database.snapshot(async ({ db }) => (await db.selectFrom("users").select("id").execute()).length),
    ).toBe(2);
  });
});
