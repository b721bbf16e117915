/** Runs one server as a process, with its own database. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { isReady } from "../deploy/cluster/cluster.ts";
import { freePort, Part, until } from "../deploy/cluster/parts.ts";
import type { Target } from "./client.ts";

const launcher = fileURLToPath(new URL("../bin/cadastre.js", import.meta.url));

export type Engine = "sqlite" | "postgres";
export type Environment = Readonly<Record<string, string>>;

/** A database with its key and the admin's token. */
export interface Register {
  readonly environment: Environment;
  readonly adminToken: string;
}

export function newRegister(database: string): Register {
  const adminToken = `proof-admin-${randomBytes(16).toString("hex")}`;
  const environment = {
    CADASTRE_DATABASE: database,
    CADASTRE_ENCRYPTION_KEY: randomBytes(32).toString("hex"),
    CADASTRE_ADMIN_TOKEN: adminToken,
  };
  return { adminToken, environment };
}

/** The same key and token with another database. */
export const movedTo = ({ adminToken, environment }: Register, database: string): Register => ({
  adminToken,
  environment: { ...environment, CADASTRE_DATABASE: database },
});

export interface Service {
  readonly part: Part;
  readonly target: Target;
  readonly register: Register;
}

export async function newService(folder: string, register: Register, name = "server"): Promise<Service> {
  const port = await freePort();
  const environment = {
    ...register.environment,
    CADASTRE_LISTEN: `127.0.0.1:${port}`,
    CADASTRE_CONSOLE: "off",
    CADASTRE_LOG_LEVEL: "warn",
  };
  const command = () => ({ program: process.execPath, words: [launcher, "serve"], environment });
  const part = new Part({ name, folder, owner: undefined, command });
  return { part, register, target: { name, url: `http://127.0.0.1:${port}` } };
}

export async function untilServing({ part, target }: Service): Promise<void> {
  await until(
    async () => {
      if (part.hasFailed) throw new Error(`the server ended instead of serving:\n${part.said()}`);
      return isReady(target);
    },
    "the server serves",
    300,
  );
}

/** Runs a CLI command as a process; throws its output if it fails. */
export async function cadastre(words: readonly string[], { environment }: Register): Promise<string> {
  const child = spawn(process.execPath, [launcher, ...words], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (output += String(piece)));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`'cadastre ${words.join(" ")}' ended with ${code}: ${output}`);
  return output;
}
