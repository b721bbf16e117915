/**
 * Somebody between us and PostgreSQL who shares its connections, such as PgBouncer: what is said to a connection outside of a transaction is
 * said to whoever gets it next. Found out before the first statement, so that nothing is said that would not hold. See
 * docs/decisions/0143-poolers-between.md.
 */
import pg from "pg";

export interface ProbeOptions {
  readonly url: string;
  readonly connectMs: number;
}

/** Whether there is one: the process that answers is not the one that greeted us. Raises what the driver raises. */
export async function isPooled({ url, connectMs }: ProbeOptions): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "cadastre",
    connectionTimeoutMillis: connectMs,
    query_timeout: connectMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ own: number }>("select pg_backend_pid() as own");
    return rows[0]?.own !== (client as unknown as { processID: number }).processID;
  } finally {
    void client.end();
  }
}
