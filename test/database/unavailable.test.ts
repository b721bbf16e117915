/** A database that is busy or gone: 503 with Retry-After, and everything goes on when it is back. */
import { DatabaseSync } from "node:sqlite";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { openDatabase } from "../../src/database/engines/open.ts";
import { type Api, startApi, startApiOn } from "../support/api.ts";
import { resource, unique } from "../support/builders.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const createOrganization = (on: Api) =>
  on.admin.post("/organizations", resource("organizations", { name: unique("org"), email: "a@b.c" }));

const onSqlite = () => {
  it("gives 503 with Retry-After, then works again", async () => {
    const other = new DatabaseSync(api.address.slice("sqlite:".length));
    other.exec("BEGIN IMMEDIATE");
    const refused = await createOrganization(api);
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await api.admin.get("/account/details")).status).toBe(200);
    other.exec("ROLLBACK");
    other.close();
    expect((await createOrganization(api)).status).toBe(201);
  });
};

const onPostgres = () => {
  let gate: Gate;
  let behindGate: Api;

  beforeAll(async () => {
    gate = await openGate(new URL(api.address));
    const url = new URL(api.address);
    url.port = String(gate.port);
    const database = openDatabase(url.toString());
    behindGate = await startApiOn({ address: api.address, database, drop: () => database.close() });
  });
  afterAll(async () => {
    await behindGate.stop();
    await gate.close();
  });

  it("gives 503 with Retry-After on reads and writes, is not ready, and recovers by itself", async () => {
    expect((await createOrganization(behindGate)).status).toBe(201);
    await gate.cut();
    for (const answer of [await createOrganization(behindGate), await behindGate.admin.get("/account/details")]) {
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      expect(answer.body.errors[0].title).toBe("service unavailable");
    }
    expect((await fetch(`${behindGate.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${behindGate.url}/healthz`)).status).toBe(200);
    await gate.mend();
    expect((await fetch(`${behindGate.url}/readyz`)).status).toBe(200);
    expect((await createOrganization(behindGate)).status).toBe(201);
  });
};

// Each engine fails in its own way.
if (inject("engine") === "sqlite") describe("a file that another program holds", onSqlite);
else describe("a server that is gone", onPostgres);

/** A wire to the database that can be cut. */
interface Gate {
  readonly port: number;
  cut(): Promise<void>;
  mend(): Promise<void>;
  close(): Promise<void>;
}

async function openGate(target: URL): Promise<Gate> {
  const sockets = new Set<Socket>();
  let server = await listening(0);
  const { port } = server.address() as AddressInfo;

  async function listening(at: number): Promise<Server> {
    const opened = createServer((client) => {
      const upstream = connect(Number(target.port), target.hostname);
      for (const socket of [client, upstream]) {
        sockets.add(socket);
        socket.on("error", () => socket.destroy());
        socket.on("close", () => sockets.delete(socket));
      }
      client.pipe(upstream).pipe(client);
    });
    await new Promise<void>((resolve) => opened.listen(at, "127.0.0.1", resolve));
    return opened;
  }

  const cut = async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  return {
    port,
    cut,
    mend: async () => {
      server = await listening(port);
    },
    close: cut,
  };
}
