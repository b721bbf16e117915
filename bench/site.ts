/** A server with workers, for the benchmarks of runs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEngines } from "../src/agent/engines.ts";
import { addFakeEngine } from "../test/support/engines.ts";
import { startPostgres } from "../test/support/postgres.ts";
import { Site } from "../test/support/site.ts";

export interface BenchSite {
  readonly site: Site;
  readonly folder: string;
  /** Version of Terraform; undefined for the fake engine of the tests. */
  readonly version: string | undefined;
}

/** BENCH_ENGINES names a directory of real engines; without it the fake engine of the tests is used. */
export async function withSite(
  engine: string,
  workers: number,
  work: (stage: BenchSite) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cadastre-runs-"));
  const postgres = engine === "postgres" ? await startPostgres({ durable: true }) : undefined;
  const real = process.env["BENCH_ENGINES"];
  const engines = real ?? join(folder, "engines");
  if (real === undefined) addFakeEngine(engines);
  const version = real === undefined ? undefined : (await findEngines(real)).terraform[0];
  try {
    const register = {
      CADASTRE_DATABASE: postgres?.url("postgres") ?? `sqlite:${join(folder, "cadastre.db")}`,
      CADASTRE_ENCRYPTION_KEY: "0123456789abcdef".repeat(4),
    };
    const site = await Site.open({ register, folder, engines, slots: workers, executes: "workers" });
    try {
      await work({ site, folder, version });
    } finally {
      await site.close();
    }
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
