/**
 * Distinguishes a hanging database from a busy one: checks the backend of a long statement over a separate connection.
 * See docs/decisions/0055-database-failures.md.
 */
import pg from "pg";

export interface BackendMonitorOptions {
  readonly url: string;
  readonly backendCheckTimeoutMs: number;
}

type BackendActivity =
  | { readonly kind: "seen"; readonly working: ReadonlySet<number> }
  | { readonly kind: "silent" | "unclear" };

/** Includes backends that have just finished, whose response may be on its way. */
const atWork = `
  select pid, pg_backend_pid() as own from pg_stat_activity
  where state not in ('idle', 'idle in transaction', 'idle in transaction (aborted)')
     or state_change > clock_timestamp() - interval '2 seconds'`;

export class BackendMonitor {
  readonly #options: BackendMonitorOptions;
  /** Behind a pooler the backends can't be identified, and a check would take a connection from others. */
  isDisabled = false;
  #underway: Promise<BackendActivity> | undefined;

  constructor(options: BackendMonitorOptions) {
    this.#options = options;
  }

  async isAtWork(processId: number | undefined): Promise<boolean> {
    if (this.isDisabled) return true;
    this.#underway ??= this.#readActivity().finally(() => (this.#underway = undefined));
    const activity = await this.#underway;
    if (activity.kind === "seen") return processId === undefined || activity.working.has(processId);
    return activity.kind === "unclear";
  }

  async #readActivity(): Promise<BackendActivity> {
    const { url, backendCheckTimeoutMs } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: "cadastre-watch",
      connectionTimeoutMillis: backendCheckTimeoutMs,
      query_timeout: backendCheckTimeoutMs,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number; own: number }>(atWork);
      const isDirect = rows[0]?.own === (client as unknown as { processID: number }).processID;
      return isDirect ? { kind: "seen", working: new Set(rows.map(({ pid }) => pid)) } : { kind: "unclear" };
    } catch (error) {
      // An error from the server is a response too.
      return { kind: (error as { severity?: string }).severity === undefined ? "silent" : "unclear" };
    } finally {
      void client.end();
    }
  }
}
