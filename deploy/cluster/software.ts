/** Finds the programs of a cluster, all of which are Debian packages. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface Software {
  readonly etcd: string;
  readonly patroni: string;
  readonly haproxy: string;
  /** Directory of PostgreSQL's programs. */
  readonly postgres: string;
  /** Path of libfaketime, which moves clocks; undefined if it isn't installed. */
  readonly faketime: string | undefined;
}

const packages = {
  etcd: "etcd-server",
  patroni: "patroni",
  haproxy: "haproxy",
  postgres: "postgresql",
} as const;

/** Throws one error that lists all missing programs. */
export function findSoftware(): Software {
  const found = {
    etcd: onPath("etcd"),
    patroni: onPath("patroni"),
    haproxy: onPath("haproxy"),
    postgres: newestPostgres(),
  };
  const missing = Object.entries(found).flatMap(([name, path]) => (path === undefined ? [name] : []));
  if (missing.length > 0) {
    const wanted = missing.map((name) => packages[name as keyof typeof packages]).join(" ");
    throw new Error(`A cluster needs ${missing.join(", ")}. On Debian: apt-get install ${wanted}`);
  }
  return { ...(found as Record<keyof typeof found, string>), faketime: findFaketime() };
}

function onPath(program: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/local/sbin"];
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}

/** Debian installs versions side by side. */
export function newestPostgres(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  return readdirSync(root)
    .sort((one, other) => Number(other) - Number(one))
    .map((version) => join(root, version, "bin"))
    .find((folder) => existsSync(join(folder, "postgres")) && existsSync(join(folder, "pg_rewind")));
}

function findFaketime(): string | undefined {
  const roots = readdirSync("/usr/lib").filter((name) => name.endsWith("-linux-gnu"));
  return roots.map((root) => join("/usr/lib", root, "faketime", "libfaketime.so.1")).find((path) => existsSync(path));
}
