/** Runners for tests: each with its own database object, like a separate server. */
import { afterAll, beforeAll, expect } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/engines/open.ts";
import type { JobTable } from "../../src/database/schema/state.ts";
import { createVault } from "../../src/database/vault.ts";
import type { BackgroundJob } from "../../src/jobs/job.ts";
import type { JobContext } from "../../src/resources/shared/job-context.ts";
import { BackgroundJobRunner, type BackgroundJobRunnerOptions } from "../../src/jobs/runner.ts";
import { newDatabase, type TestDatabase } from "../support/database.ts";

export const hourMs = 3_600_000;

export interface Gate {
  readonly passed: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: resolve };
}

let names = 0;
/** A separate job for each test, because tests share a database. */
export function makeJob(run: (work: JobContext) => Promise<number>, everyMs = hourMs): BackgroundJob {
  names += 1;
  return { name: `test-${names}`, doc: "is tested.", everyMs, run };
}

export interface Jobs {
  readonly database: Database;
  readonly address: string;
  /** Another server. */
  server(jobs: readonly BackgroundJob[], options?: Partial<BackgroundJobRunnerOptions>): BackgroundJobRunner;
  row(name: string): Promise<JobTable>;
  set(name: string, values: Partial<JobTable>): Promise<void>;
  /** The names of rows in the table `meta`, which the jobs of these tests write to. */
  marks(prefix: string): Promise<string[]>;
}

export const mark = (name: string) => (tx: { db: Database["reader"]["db"] }) =>
  tx.db.insertInto("meta").values({ name, value: "" }).execute();

export function useJobs(): Jobs {
  let opened: TestDatabase | undefined;
  const servers: { runner: BackgroundJobRunner; database: Database }[] = [];
  const database = () => (opened as TestDatabase).database;
  beforeAll(async () => {
    opened = await newDatabase();
  });
  afterAll(async () => {
    for (const { runner, database } of servers) {
      await runner.stop();
      await database.close();
    }
    await opened?.drop();
  });
  return {
    get database() {
      return database();
    },
    get address() {
      return (opened as TestDatabase).address;
    },
    server(jobs, options = {}) {
      const own = openDatabase((opened as TestDatabase).address);
      const runner = new BackgroundJobRunner({ ...optionsByDefault, database: own, jobs, ...options });
      servers.push({ runner, database: own });
      return runner;
    },
    row: (name) =>
      database().reader.db.selectFrom("jobs").selectAll().where("name", "=", name).executeTakeFirstOrThrow(),
    set: async (name, values) => {
      const change = (tx: { db: Database["reader"]["db"] }) =>
        tx.db.updateTable("jobs").set(values).where("name", "=", name).execute();
      expect(await database().write(change)).toHaveLength(1);
    },
    marks: async (prefix) => {
      const rows = await database().reader.db.selectFrom("meta").select("name").orderBy("name").execute();
      return rows.map(({ name }) => name).filter((name) => name.startsWith(prefix));
    },
  };
}

/** Polls often, because tests wait for it. */
const optionsByDefault = {
  vault: createVault(Buffer.alloc(32, 7)),
  options: {
    organizationCreation: "site-admins",
    edition: "self-hosted",
    globalRemoteStateDefault: false,
    publicUrl: "http://cadastre.example",
  },
  tickMs: 20,
} as const;
