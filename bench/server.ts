/** The server of both benchmarks. */
import type { Database } from "../src/database/database.ts";
import { createVault } from "../src/database/vault.ts";
import { createServer, type ServerOptions } from "../src/http/server.ts";

export const benchServer = (database: Database, more: Pick<ServerOptions, "logger" | "cacheBytes" | "console">) =>
  createServer({
    database,
    vault: createVault(Buffer.alloc(32, 7)),
    options: { organizationCreation: "site-admins", edition: "self-hosted", globalRemoteStateDefault: false },
    version: "bench",
    rateLimit: 0,
    ...more,
  });
