/**
 * Learns of commits from `Dialect.snapshotId`: each statement with it returns its snapshot, and the organizations that have changed since the
 * newest snapshot that was known when it was sent. The snapshots of one server are ordered by how many transactions they see as ended.
 */
import type { CommitObservation, CommitObserver } from "../database.ts";
import { changesMax, type ChangeParameters, noChanges, trimMark } from "../organization-changes.ts";
import { ObservedCommits } from "../observed-commits.ts";

interface Snapshot {
  readonly text: string;
  /** Snapshots of different eras have nothing in common: another server, or connections in between were lost. */
  readonly era: number;
  readonly id: number;
  readonly xmin: number;
  readonly parameters: ChangeParameters;
}

export class PostgresCommits extends ObservedCommits implements CommitObserver {
  #server = "";
  #era = 0;
  #idOffset = 0;
  #newest: Snapshot = { text: "", era: -1, id: 0, xmin: 0, parameters: noChanges };

  get newestId(): number {
    return this.#newest.id;
  }

  begin(): CommitObservation {
    const since = this.#newest;
    return { parameters: since.parameters, end: (text) => this.#observe(since, text) };
  }

  /** After a crash the server can give numbers of lost transactions to others. All connections end with it. */
  forget(): void {
    this.#server = "";
  }

  #observe(since: Snapshot, text: string): number {
    if (text === this.#newest.text && this.#newest.era === this.#era && this.#server !== "") return this.#newest.id;
    const [server = "", snapshot = "", ...changes] = text.split("|");
    const [xmin = 0, xmax = 0] = snapshot.split(":", 2).map(Number);
    const running = snapshot.slice(snapshot.lastIndexOf(":") + 1);
    const ended = xmax - (running === "" ? 0 : running.split(",").length);
    const isOtherEra = server !== this.#server;
    if (isOtherEra) {
      this.#server = server;
      this.#era += 1;
      this.#idOffset = this.#newest.id + 1 - ended;
    }
    const id = this.#idOffset + ended;
    if (isOtherEra || since.era !== this.#era || areIncomplete(changes, since)) this.recordChangeOfEverything(id);
    else this.recordChanges(changes, id);
    if (isOtherEra || id > this.#newest.id) {
      const parameters = { changedAfter: xmax, changedIn: `{${running}}` };
      // Without changes the text is that of the next statement, if nothing is committed in between.
      this.#newest = { text: `${server}|${snapshot}`, era: this.#era, id, xmin, parameters };
    }
    return id;
  }
}

/** Rows of transactions that `since` does not see were trimmed, or are more than the statement returns. */
const areIncomplete = (changes: readonly string[], since: Snapshot): boolean =>
  changes.length >= changesMax ||
  changes.some((change) => change.startsWith(trimMark) && Number(change.slice(trimMark.length)) > since.xmin);
