/** The database nodes: PostgreSQL managed by Patroni. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Link } from "./link.ts";
import { familyOf, folderFor, freePort, type Owner, Part, writeFor } from "./parts.ts";
import type { Software } from "./software.ts";

export interface Passwords {
  readonly superuser: string;
  readonly replication: string;
  readonly rewind: string;
  readonly cadastre: string;
}

export interface NodeOptions {
  readonly name: string;
  readonly software: Software;
  readonly folder: string;
  readonly owner: Owner | undefined;
  readonly passwords: Passwords;
  readonly etcdPorts: readonly number[];
}

/** The links between this node and the others. */
interface Wires {
  readonly database: Link;
  readonly patroni: Link;
  readonly etcd: Link;
}

export class Node {
  readonly name: string;
  readonly part: Part;
  readonly dataFolder: string;
  /** Ports of the links to its database and its Patroni. */
  readonly databasePort: number;
  readonly patroniPort: number;
  readonly wires: Wires;

  private constructor(options: NodeOptions, wires: Wires, part: Part, dataFolder: string) {
    this.name = options.name;
    this.part = part;
    this.wires = wires;
    this.dataFolder = dataFolder;
    this.databasePort = wires.database.port;
    this.patroniPort = wires.patroni.port;
  }

  static async make(options: NodeOptions): Promise<Node> {
    const { name, folder, owner, software } = options;
    const own = { database: await freePort(), patroni: await freePort() };
    const wire = async (what: string, to: readonly number[]) =>
      Link.open({ name: `${name} ${what}`, port: await freePort(), to });
    const wires = {
      database: await wire("database", [own.database]),
      patroni: await wire("patroni", [own.patroni]),
      etcd: await wire("etcd", options.etcdPorts),
    };
    const dataFolder = folderFor(owner, join(folderFor(owner, join(folder, name)), "space"));
    const settings = settingsOf(options, own, wires, dataFolder);
    const file = writeFor(owner, join(folder, name, "patroni.json"), JSON.stringify(settings, undefined, 2));
    const command = () => ({ program: software.patroni, words: [file] });
    const part = new Part({ name, folder, owner, command, alsoPid: () => postmasterOf(dataFolder) });
    return new Node(options, wires, part, dataFolder);
  }

  /** Cuts the links to the other nodes, etcd and clients. Its own connections are recognized by their greeting. */
  cutOff(others: readonly Node[]): void {
    for (const wire of Object.values(this.wires)) wire.cut();
    for (const other of others) other.wires.database.cut(this.name);
  }

  rejoin(others: readonly Node[]): void {
    for (const wire of Object.values(this.wires)) wire.heal();
    for (const other of others) other.wires.database.heal();
  }

  /** Kills only PostgreSQL; Patroni has to notice. */
  killDatabase(): void {
    for (const pid of familyOf(postmasterOf(this.dataFolder) ?? 0)) process.kill(pid, "SIGKILL");
  }

  /** Its role according to Patroni; undefined if Patroni doesn't respond. */
  async role(): Promise<string | undefined> {
    try {
      const response = await fetch(`http://127.0.0.1:${this.patroniPort}/patroni`, {
        signal: AbortSignal.timeout(1_000),
      });
      const { role, state } = (await response.json()) as { role: string; state: string };
      return state === "running" ? role.replace("master", "primary") : state;
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.part.stop();
    for (const wire of Object.values(this.wires)) await wire.close();
  }
}

/** Patroni daemonizes PostgreSQL, so it isn't a child. */
function postmasterOf(dataFolder: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataFolder, "data", "postmaster.pid"), "utf8").split("\n")[0]);
    // The file can be stale, and its PID reused.
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(dataFolder) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** Shorter than the defaults, so that a lost primary is replaced within half a minute. The TTL is Patroni's minimum. */
const pace = { ttl: 20, loop_wait: 2, retry_timeout: 5 };

/** JSON, which is valid YAML. */
function settingsOf(
  { name, software, passwords, folder }: NodeOptions,
  own: { readonly database: number; readonly patroni: number },
  wires: Wires,
  dataFolder: string,
): object {
  const person = (username: string, password: string) => ({ username, password, sslmode: "disable" });
  return {
    scope: "cadastre",
    name,
    restapi: { listen: `127.0.0.1:${own.patroni}`, connect_address: `127.0.0.1:${wires.patroni.port}` },
    // Only through the link: discovered members would bypass it.
    etcd3: { hosts: [`127.0.0.1:${wires.etcd.port}`], use_proxies: true },
    bootstrap: {
      dcs: {
        ...pace,
        maximum_lag_on_failover: 1_048_576,
        // A commit waits until a second node has it on disk.
        synchronous_mode: true,
        synchronous_mode_strict: true,
        // A crashed primary is replaced immediately.
        primary_start_timeout: 0,
        master_start_timeout: 0,
        postgresql: { use_pg_rewind: true, use_slots: true, parameters: databaseSettings },
      },
      initdb: [{ encoding: "UTF8" }, { locale: "C" }, "data-checksums"],
    },
    postgresql: {
      listen: `127.0.0.1:${own.database}`,
      connect_address: `127.0.0.1:${wires.database.port}`,
      data_dir: join(dataFolder, "data"),
      bin_dir: software.postgres,
      pgpass: join(folder, name, "pgpass"),
      authentication: {
        superuser: person("postgres", passwords.superuser),
        replication: person("replicator", passwords.replication),
        rewind: person("rewinder", passwords.rewind),
      },
      parameters: { unix_socket_directories: "" },
      pg_hba: ["host replication replicator 127.0.0.1/32 scram-sha-256", "host all all 127.0.0.1/32 scram-sha-256"],
      remove_data_directory_on_rewind_failure: true,
      remove_data_directory_on_diverged_timelines: true,
    },
    watchdog: { mode: "off" },
  };
}

const databaseSettings = {
  max_connections: 100,
  shared_buffers: "64MB",
  password_encryption: "scram-sha-256",
  synchronous_commit: "on",
  wal_log_hints: "on",
  wal_keep_size: "64MB",
  max_wal_size: "96MB",
  min_wal_size: "32MB",
  max_wal_senders: 8,
  max_replication_slots: 8,
  // Detects a lost node quickly.
  wal_sender_timeout: "8s",
  wal_receiver_timeout: "8s",
  log_min_messages: "warning",
} as const;
