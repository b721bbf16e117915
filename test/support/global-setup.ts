/** Once per run: a migrated template on each engine, which each test file's database copies. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import type { TestProject } from "vitest/node";
import { openDatabase } from "../../src/database/engines/open.ts";
import { migrate } from "../../src/database/migrate.ts";
import { newFolder } from "./folder.ts";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    engine: "sqlite" | "postgres";
    postgresUrl: string;
    sqliteTemplate: string;
    isWhole: boolean;
  }
}

export const templateName = "template_cadastre";

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const admin = new pg.Client({ connectionString: postgres.url("postgres") });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${templateName}`);
  await admin.end();
  const folder = newFolder("cadastre-template-");
  const sqliteTemplate = join(folder, "template.db");
  for (const address of [postgres.url(templateName), `sqlite:${sqliteTemplate}`]) {
    const template = openDatabase(address);
    await migrate(template);
    await template.close();
  }
  project.provide("postgresUrl", postgres.url("postgres"));
  project.provide("sqliteTemplate", sqliteTemplate);
  return async () => {
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  };
}
