/** Runs a durable PostgreSQL for a proof, with the system's programs. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import pg from "pg";
import { folderFor, freePort, type Owner, ownerOfParts, Part, until } from "../deploy/cluster/parts.ts";
import { newestPostgres } from "../deploy/cluster/software.ts";

export type PostgresSettings = Readonly<Record<string, string | number>>;

export function postgresPrograms(): string {
  const folder = newestPostgres();
  if (folder === undefined) throw new Error("PostgreSQL is not installed. On Debian: apt-get install postgresql");
  return folder;
}

export interface PostgresPlace {
  /** For the log, and for the data unless `dataFolder` is set. */
  readonly folder: string;
  readonly dataFolder?: string;
  readonly settings?: PostgresSettings;
}

export class Postgres {
  readonly owner: Owner | undefined;
  readonly dataFolder: string;
  readonly port: number;
  readonly part: Part;

  private constructor({ folder, dataFolder = join(folder, "data"), settings = {} }: PostgresPlace, port: number) {
    this.owner = ownerOfParts();
    this.dataFolder = dataFolder;
    this.port = port;
    const all = { listen_addresses: "127.0.0.1", port, unix_socket_directories: "", max_connections: 60, ...settings };
    const words = ["-D", dataFolder, ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
    const command = () => ({ program: join(postgresPrograms(), "postgres"), words });
    this.part = new Part({ name: `postgres-${port}`, folder, owner: this.owner, command });
  }

  static async at(place: PostgresPlace): Promise<Postgres> {
    const postgres = new Postgres(place, await freePort());
    folderFor(postgres.owner, place.folder);
    return postgres;
  }

  create(...words: readonly string[]): void {
    const usual = ["-D", this.dataFolder, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"];
    execFileSync(join(postgresPrograms(), "initdb"), [...usual, ...words], {
      ...this.owner,
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "", LC_ALL: "C", TZ: "UTC" },
      stdio: "pipe",
    });
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async start(): Promise<void> {
    this.part.start();
    await until(async () => {
      if (this.part.hasFailed) throw new Error(`PostgreSQL ended instead of starting:\n${this.part.said()}`);
      return (await this.ask("select pg_is_in_recovery() as recovering").catch(() => [])).some(
        ({ recovering }) => recovering === false,
      );
    }, "PostgreSQL takes writes");
  }

  async ask(statement: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 5_000 });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(statement)).rows as Record<string, unknown>[];
    } finally {
      await client.end();
    }
  }

  /** A fast shutdown. */
  async stop(): Promise<void> {
    await Promise.race([this.part.kill("SIGINT"), new Promise((done) => setTimeout(done, 30_000).unref())]);
    await this.part.kill();
  }
}
