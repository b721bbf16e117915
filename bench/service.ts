/** The service in a process of its own, on the database that the parent filled, with its log in a file as in production. */
import type { AddressInfo } from "node:net";
import { openDatabase } from "../src/database/engines/open.ts";
import { createVault } from "../src/database/vault.ts";
import { newLogger } from "../src/http/log.ts";
import { batchedDestination } from "../src/http/log-destination.ts";
import { createServer } from "../src/http/server.ts";
import { tellUsage } from "./children.ts";

const [address = "", logFile = "/dev/null"] = process.argv.slice(2);
const database = openDatabase(address);
const server = createServer({
  database,
  vault: createVault(Buffer.alloc(32, 7)),
  options: { organizationCreation: "site-admins", edition: "self-hosted", globalRemoteStateDefault: false },
  version: "bench",
  logger: newLogger("info", batchedDestination(logFile)),
  rateLimit: 0,
});
await server.listen({ host: "127.0.0.1", port: 0 });
tellUsage(() => ({ statements: database.statementCount(), commits: database.commitCount() }));
process.send?.((server.server.address() as AddressInfo).port);
