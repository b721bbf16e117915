/** Once for the whole run: a PostgreSQL server with a migrated template, from which each test file's database is copied. */
import pg from "pg";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    engine: "sqlite" | "postgres";
    postgresUrl: string;
  }
}

export const templateName = "template_cadastre";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const admin = new pg.Client({ connectionString: postgres.url("postgres") });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${templateName}`);
  await admin.end();
  const template = openDatabase(postgres.url(templateName));
  await migrate(template);
  await template.close();
  project.provide("postgresUrl", postgres.url("postgres"));
  return () => postgres.stop();
}
