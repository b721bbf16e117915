/** A fresh, migrated database on the engine that the run is about. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { inject } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { templateName } from "./global-setup.ts";

export type Engine = "sqlite" | "postgres";

export interface TestDatabase {
  readonly address: string;
  readonly database: Database;
  drop(): Promise<void>;
}

/** The address of a new database; empty unless `migrated`. */
export async function newAddress(
  engine: Engine = inject("engine"),
  migrated = false,
): Promise<{ address: string; drop: () => Promise<void> }> {
  if (engine === "sqlite") {
    const folder = mkdtempSync(join(tmpdir(), "cadastre-sqlite-"));
    return {
      address: `sqlite:${join(folder, "test.db")}`,
      drop: async () => rmSync(folder, { recursive: true, force: true }),
    };
  }
  const name = `test_${randomBytes(6).toString("hex")}`;
  const adminUrl = inject("postgresUrl");
  await onServer(adminUrl, `CREATE DATABASE ${name} ${migrated ? `TEMPLATE ${templateName}` : ""}`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { address: url.toString(), drop: () => onServer(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`) };
}

export async function newDatabase(engine: Engine = inject("engine")): Promise<TestDatabase> {
  const { address, drop } = await newAddress(engine, true);
  const database = openDatabase(address);
  await migrate(database);
  return {
    address,
    database,
    drop: async () => {
      await database.close();
      await drop();
    },
  };
}

async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
