/** Runs the server in a separate process, on the database that the parent filled, with its log in a file as in production. */
import type { AddressInfo } from "node:net";
import { openDatabase } from "../src/database/engines/open.ts";
import { newLogger } from "../src/http/log.ts";
import { batchedDestination } from "../src/http/log-output.ts";
import { reportUsage } from "./children.ts";
import { benchServer } from "./server.ts";

const [address = "", logFile = "/dev/null"] = process.argv.slice(2);
const database = openDatabase(address);
const server = benchServer(database, { logger: newLogger("info", batchedDestination(logFile)) });
await server.listen({ host: "127.0.0.1", port: 0 });
reportUsage(() => ({ statements: database.statementCount(), commits: database.commitCount() }));
process.send?.((server.server.address() as AddressInfo).port);
