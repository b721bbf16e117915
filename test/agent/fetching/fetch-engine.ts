/** A process that fetches an engine, for tests with several: prints what it fetched, or that it was there. */
import { EngineCache } from "../../../src/agent/fetching/cache.ts";
import type { EngineName } from "../../../src/agent/products.ts";

const { settings, engine } = JSON.parse(process.argv[2] ?? "") as {
  settings: ConstructorParameters<typeof EngineCache>[0];
  engine: EngineName;
};
const fetched = await new EngineCache(settings).fetch(engine, new AbortController().signal);
process.stdout.write(fetched === undefined ? "was there\n" : "fetched\n");
