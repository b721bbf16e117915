/** Detects a pooler such as PgBouncer, which would leak session state to other clients. See docs/decisions/0143-connection-poolers.md. */
import pg from "pg";

export interface ProbeOptions {
  readonly url: string;
  readonly connectMs: number;
}

/** Whether the backend process differs from the one in the handshake. Throws the driver's error. */
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
