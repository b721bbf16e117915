/** For who runs the service: is it alive, and is it ready. */
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import type { Database } from "../database/database.ts";
import { AppError } from "../kernel/errors.ts";

export function mountHealth(server: FastifyInstance, database: Database, isStopping: () => boolean): void {
  server.get("/healthz", async () => ({ status: "alive" }));
  server.get("/readyz", async () => {
    if (isStopping()) throw new AppError("unavailable", "The service is stopping.", { retryAfterSeconds: 5 });
    await sql`select 1`.execute(database.reader.db);
    return { status: "ready" };
  });
}
