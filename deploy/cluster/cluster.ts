/** A cluster on one machine: three servers, three database nodes, etcd and a load balancer, connected by links that can fail. */
import { randomBytes } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { Clock } from "./clocks.ts";
import { hasAgreed, type Member, newMembers } from "./etcd.ts";
import { newBalancer } from "./haproxy.ts";
import { Link } from "./link.ts";
import { Node, type Passwords } from "./patroni.ts";
import { folderFor, freePort, type Owner, ownerOfParts, Part, until } from "./parts.ts";
import { findSoftware, type Software } from "./software.ts";

const launcher = fileURLToPath(new URL("../../bin/cadastre.js", import.meta.url));
const secret = () => randomBytes(24).toString("hex");

export interface Server {
  readonly name: string;
  readonly part: Part;
  readonly url: string;
  /** To the database. */
  readonly wire: Link;
  readonly clock: Clock;
}

export interface ClusterOptions {
  /** Port of the load balancer; a free one if unset. */
  readonly servicePort?: number;
  readonly say?: (line: string) => void;
  /** Called with each node's empty data directory. */
  readonly prepareSpace?: (folder: string, owner: Owner | undefined) => void;
}

export class Cluster {
  readonly folder: string;
  readonly adminToken = `cluster-admin-${secret()}`;
  readonly nodes: Node[] = [];
  readonly servers: Server[] = [];
  readonly members: Member[] = [];
  readonly servicePort: number;
  balancer!: Part;
  readonly #software: Software;
  readonly #owner: Owner | undefined;
  readonly #passwords: Passwords = {
    superuser: secret(),
    replication: secret(),
    rewind: secret(),
    cadastre: secret(),
  };
  readonly #key = randomBytes(32).toString("hex");
  readonly #databasePort: number;

  private constructor(software: Software, ports: { database: number; service: number }) {
    this.#software = software;
    this.#owner = ownerOfParts();
    this.folder = mkdtempSync(join(tmpdir(), "cadastre-cluster-"));
    chmodSync(this.folder, 0o700);
    folderFor(this.#owner, this.folder);
    this.#databasePort = ports.database;
    this.servicePort = ports.service;
  }

  /** Starts everything, and returns when all servers are ready and all nodes replicate. Throws if a program is missing. */
  static async start({ servicePort, say = () => {}, prepareSpace }: ClusterOptions = {}): Promise<Cluster> {
    const software = findSoftware();
    const cluster = new Cluster(software, { database: await freePort(), service: servicePort ?? (await freePort()) });
    try {
      await cluster.#prepare(prepareSpace);
      say(`files and logs: ${cluster.folder}`);
      await cluster.#startDatabase(say);
      await cluster.#startServers(say);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get canMoveClocks(): boolean {
    return this.#software.faketime !== undefined;
  }

  get parts(): Part[] {
    return [
      ...this.members.map(({ part }) => part),
      ...this.nodes.map(({ part }) => part),
      ...(this.balancer === undefined ? [] : [this.balancer]),
      ...this.servers.map(({ part }) => part),
    ];
  }

  async primary(): Promise<Node | undefined> {
    const roles = await Promise.all(this.nodes.map(async (node) => ({ node, role: await node.role() })));
    const primaries = roles.filter(({ role }) => role === "primary").map(({ node }) => node);
    return primaries.length === 1 ? primaries[0] : undefined;
  }

  /** One primary and two replicas, one of them synchronous. */
  async isWhole(): Promise<boolean> {
    const roles = (await Promise.all(this.nodes.map((node) => node.role()))).sort().join();
    if (roles !== "primary,replica,replica") return false;
    try {
      const rows = await this.ask<{ state: string; sync_state: string }>(
        "select state, sync_state from pg_stat_replication where state = 'streaming'",
      );
      return rows.length === this.nodes.length - 1 && rows.some(({ sync_state }) => sync_state === "sync");
    } catch {
      return false;
    }
  }

  async untilWhole(seconds = 120): Promise<void> {
    await until(() => this.isWhole(), "one primary, which two others follow", seconds);
  }

  /** Queries the database directly. */
  async ask<Row extends pg.QueryResultRow>(text: string, database = "cadastre"): Promise<Row[]> {
    const client = new pg.Client({
      connectionString: this.#address("postgres", this.#passwords.superuser, this.#databasePort, database),
      connectionTimeoutMillis: 3_000,
      query_timeout: 5_000,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      return (await client.query<Row>(text)).rows;
    } finally {
      await client.end().catch(() => {});
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map(({ part }) => part.stop()));
    await this.balancer?.stop();
    await Promise.all(this.nodes.map((node) => node.close()));
    await Promise.all(this.members.map(({ part }) => part.stop()));
    await Promise.all(this.servers.map(({ wire }) => wire.close()));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #address(user: string, password: string, port: number, database = "cadastre"): string {
    return `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
  }

  async #prepare(prepareSpace: ClusterOptions["prepareSpace"]): Promise<void> {
    const [software, owner, folder, passwords] = [this.#software, this.#owner, this.folder, this.#passwords];
    this.members.push(...(await newMembers(software, folder, owner)));
    const etcdPorts = this.members.map(({ clientPort }) => clientPort);
    for (const name of ["node1", "node2", "node3"]) {
      const node = await Node.make({ name, software, folder, owner, passwords, etcdPorts });
      prepareSpace?.(node.dataFolder, owner);
      this.nodes.push(node);
    }
    const [databasePort, nodes] = [this.#databasePort, this.nodes];
    const servers = await Promise.all(
      ["server1", "server2", "server3"].map(async (name) => ({ name, port: await freePort() })),
    );
    for (const server of servers) this.servers.push(await this.#newServer(server.name, server.port));
    const { servicePort } = this;
    this.balancer = newBalancer({ software, folder, owner, databasePort, servicePort, nodes, servers });
  }

  async #newServer(name: string, port: number): Promise<Server> {
    const wire = await Link.open({ name: `${name} database`, port: await freePort(), to: [this.#databasePort] });
    const clock = new Clock(name, this.folder, this.#owner, this.#software.faketime);
    const environment = {
      CADASTRE_LISTEN: `127.0.0.1:${port}`,
      CADASTRE_PUBLIC_URL: `http://127.0.0.1:${this.servicePort}`,
      CADASTRE_DATABASE: this.#address("cadastre", this.#passwords.cadastre, wire.port),
      CADASTRE_ENCRYPTION_KEY: this.#key,
      CADASTRE_ADMIN_TOKEN: this.adminToken,
      CADASTRE_TRUSTED_PROXIES: "127.0.0.1",
      CADASTRE_ALLOW_PRIVATE_ADDRESSES: "127.0.0.1",
      CADASTRE_CONSOLE: "off",
      CADASTRE_LOG_LEVEL: "warn",
    };
    // The checkout may not be readable by other users, so the servers run as the current user.
    const part = new Part({
      name,
      folder: this.folder,
      owner: undefined,
      command: () => ({
        program: process.execPath,
        words: [launcher, "serve"],
        environment: { ...environment, ...clock.environment },
      }),
    });
    return { name, part, wire, clock, url: `http://127.0.0.1:${port}` };
  }

  async #startDatabase(say: (line: string) => void): Promise<void> {
    for (const { part } of this.members) part.start();
    // Patroni fails if etcd has no leader yet.
    await this.#untilStarted(
      async () => (await Promise.all(this.members.map(hasAgreed))).every(Boolean),
      "etcd agrees",
    );
    for (const { part } of this.nodes) part.start();
    this.balancer.start();
    await this.#untilStarted(async () => {
      try {
        return (await this.ask("select 1", "postgres")).length === 1;
      } catch {
        return false;
      }
    }, "a primary answers");
    await this.#makeDatabase();
    await this.#untilStarted(() => this.isWhole(), "the other nodes follow");
    say("the database has a primary and two replicas");
  }

  async #makeDatabase(): Promise<void> {
    // A synchronous commit waits until there is a second node.
    await this.#untilStarted(async () => {
      const sent = await this.ask("select 1 from pg_stat_replication where sync_state = 'sync'", "postgres");
      return sent.length > 0;
    }, "a node follows synchronously");
    await this.ask(`create role cadastre login password '${this.#passwords.cadastre}'`, "postgres");
    await this.ask("create database cadastre owner cadastre", "postgres");
  }

  async #startServers(say: (line: string) => void): Promise<void> {
    for (const { part } of this.servers) part.start();
    await this.#untilStarted(
      async () => (await Promise.all(this.servers.map(isReady))).every(Boolean),
      "servers serve",
    );
    say("three servers are ready");
  }

  /** Throws with the log of a process that has exited. */
  async #untilStarted(look: () => Promise<boolean>, what: string): Promise<void> {
    await until(async () => {
      const failed = this.parts.find((part) => part.hasFailed);
      if (failed !== undefined) throw new Error(`${failed.name} ended instead of starting:\n${failed.said()}`);
      return look().catch(() => false);
    }, what);
  }
}

export async function isReady({ url }: Pick<Server, "url">): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(3_000) })).ok;
  } catch {
    return false;
  }
}
