/** The service in a process of its own, on the database that the parent filled. */
import type { AddressInfo } from "node:net";
import pino from "pino";
import { openDatabase } from "../src/database/engines/open.ts";
import { createVault } from "../src/database/vault.ts";
import { createServer } from "../src/http/server.ts";

const database = openDatabase(process.argv[2] ?? "");
const server = createServer({
  database,
  vault: createVault(Buffer.alloc(32, 7)),
  options: { organizationCreation: "site-admins", edition: "self-hosted", globalRemoteStateDefault: false },
  version: "bench",
  logger: pino({ level: "silent" }),
  rateLimit: 0,
});
await server.listen({ host: "127.0.0.1", port: 0 });
process.on("message", () => process.send?.({ statements: database.statementCount() }));
process.on("SIGTERM", () => process.exit(0));
process.send?.((server.server.address() as AddressInfo).port);
