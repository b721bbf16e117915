/**
 * Tells a database that hangs from one that has much to do. A statement that takes long is asked after over a connection of
 * its own: a silent database, a wire on which an answer was lost and a server that took over from another all look the same
 * to whoever waits, and waiting does not help with any of them. See docs/decisions/0055-a-database-that-goes-away.md.
 */
import pg from "pg";

export interface BackendMonitorOptions {
  readonly url: string;
  /** How long the database may take to be asked. */
  readonly answerMs: number;
}

/** What was seen: who is at work, nobody because there was no answer, or nothing that tells one from another. */
type BackendActivity =
  | { readonly kind: "seen"; readonly working: ReadonlySet<number> }
  | { readonly kind: "silent" | "unclear" };

/** Also those who have just finished: their answer may be on its way. */
const atWork = `
  select pid, pg_backend_pid() as own from pg_stat_activity
  where state not in ('idle', 'idle in transaction', 'idle in transaction (aborted)')
     or state_change > clock_timestamp() - interval '2 seconds'`;

export class BackendMonitor {
  readonly #options: BackendMonitorOptions;
  /** Whether somebody shares the connections: then who is at work can't be seen, and to ask would take a connection from others. */
  isDisabled = false;
  #underway: Promise<BackendActivity> | undefined;

  constructor(options: BackendMonitorOptions) {
    this.#options = options;
  }

  /** Whether the server process of a connection has something to do for it. Raises nothing. */
  async isAtWork(processId: number | undefined): Promise<boolean> {
    if (this.isDisabled) return true;
    // One look for all who ask at once.
    this.#underway ??= this.#look().finally(() => (this.#underway = undefined));
    const activity = await this.#underway;
    if (activity.kind === "seen") return processId === undefined || activity.working.has(processId);
    return activity.kind === "unclear";
  }

  async #look(): Promise<BackendActivity> {
    const { url, answerMs } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      application_name: "cadastre-watch",
      connectionTimeoutMillis: answerMs,
      query_timeout: answerMs,
    });
    client.on("error", () => {});
    try {
      await client.connect();
      const { rows } = await client.query<{ pid: number; own: number }>(atWork);
      // Between us and the database there may be somebody who shares its connections: then process ids are not ours.
      const isDirect = rows[0]?.own === (client as unknown as { processID: number }).processID;
      return isDirect ? { kind: "seen", working: new Set(rows.map(({ pid }) => pid)) } : { kind: "unclear" };
    } catch (error) {
      // A refusal is an answer too.
      return { kind: (error as { severity?: string }).severity === undefined ? "silent" : "unclear" };
    } finally {
      void client.end();
    }
  }
}
