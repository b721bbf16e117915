/** Follows a run through one event stream, and polls if no stream is available. It is closed while the page is hidden. */
import { addressOf, bytesAt } from "../../api/client.ts";
import { LogLines } from "./log-lines.ts";

export type LogKind = "plan" | "apply";

const pieceBytes = 256 * 1024;
const linesAfter = 5_000;
/** Beyond any log: a log that has ended is read by its own URL. */
const pastEnd = 999_999_999_999_999;
const firstEventMs = 10_000;
const pollMs = 5_000;
const [retryMinMs, retryMaxMs] = [1_000, 60_000];
const hiddenMs = 15_000;

/** Reading pauses before it would drop the requested line. */
export class LogReading {
  readonly lines = new LogLines();
  offset = 0;
  #keptLine: number | undefined;

  keep(line: number | undefined): void {
    this.#keptLine = line;
  }

  get isPaused(): boolean {
    const { lines, isFull, hasEnded } = this.lines;
    if (hasEnded) return false;
    return this.#keptLine !== undefined && isFull && this.#keptLine + linesAfter <= (lines.at(-1)?.number ?? 0);
  }

  /** Returns whether there may be more. */
  async readPiece(address: string, signal: AbortSignal): Promise<boolean> {
    const from = this.offset;
    const bytes = await bytesAt(`${address}?offset=${from}&limit=${pieceBytes}`, signal);
    // A stream may have delivered the same piece meanwhile.
    if (this.offset !== from) return false;
    this.offset += bytes.length;
    this.lines.add(bytes);
    return bytes.length === pieceBytes;
  }
}

interface LogEvent {
  readonly phase: LogKind;
  readonly offset: number;
  readonly "next-offset": number;
  readonly text: string;
  readonly ended: boolean;
}

type TimerName = "first" | "retry" | "poll" | "hidden";

export class RunStream {
  readonly runId: string;
  readonly logs: Readonly<Record<LogKind, LogReading | undefined>>;
  #addresses: Partial<Record<LogKind, string | undefined>> = {};
  readonly #listeners = new Set<() => void>();
  #onChange: (status?: string) => void = () => {};
  #stopped = new AbortController();
  #source: EventSource | undefined;
  #failures = 0;
  #revision = 0;
  readonly #timers = new Map<TimerName, ReturnType<typeof setTimeout>>();

  constructor(runId: string, isEnded: Readonly<Record<LogKind, boolean>>) {
    this.runId = runId;
    const readingOf = (kind: LogKind) => (isEnded[kind] ? undefined : new LogReading());
    this.logs = { plan: readingOf("plan"), apply: readingOf("apply") };
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly revision = (): number => this.#revision;

  start(onChange: (status?: string) => void): void {
    this.#onChange = onChange;
    this.#stopped = new AbortController();
    document.addEventListener("visibilitychange", this.#handleVisibility);
    if (document.hidden) this.#handleVisibility();
    else this.#open();
  }

  stop(): void {
    document.removeEventListener("visibilitychange", this.#handleVisibility);
    this.#stopped.abort();
    this.#close();
    this.#clear("hidden");
  }

  /** For polling; each document has newly signed URLs. */
  setAddresses(addresses: Partial<Record<LogKind, string | undefined>>): void {
    this.#addresses = addresses;
  }

  readOn(kind: LogKind): void {
    const log = this.logs[kind];
    if (log === undefined) return;
    log.keep(undefined);
    this.#close();
    this.#open();
  }

  /** Browsers limit connections to a server, and a hidden page needs none. */
  readonly #handleVisibility = (): void => {
    if (document.hidden) this.#set("hidden", hiddenMs, () => this.#close());
    else {
      this.#clear("hidden");
      if (this.#source === undefined) this.#open();
    }
  };

  #open(): void {
    // Nothing would close what is opened after `stop`.
    if (this.#stopped.signal.aborted) return;
    this.#clear("retry");
    const position = (kind: LogKind) => this.logs[kind]?.offset ?? pastEnd;
    const address = addressOf("GET /runs/{run_id}/events", {
      path: { run_id: this.runId },
      query: { "last-event-id": `${position("plan")}.${position("apply")}.` },
    });
    const source = new EventSource(address);
    this.#source = source;
    this.#set("first", firstEventMs, () => this.#fail());
    const on = (name: string, take: (data: any) => void) =>
      source.addEventListener(name, (event) => {
        this.#clear("first");
        this.#clear("poll");
        this.#failures = 0;
        take(JSON.parse((event as MessageEvent<string>).data));
      });
    on("run", ({ status }: { status: string }) => this.#onChange(status));
    on("log", (event: LogEvent) => this.#take(event));
    on("end", ({ reason }: { reason: string }) => {
      if (reason === "finished") return this.#close();
      this.#onChange();
      this.#fail();
    });
    source.addEventListener("error", () => this.#fail());
  }

  #take({ phase, offset, "next-offset": next, text, ended }: LogEvent): void {
    const log = this.logs[phase];
    if (log === undefined || log.isPaused || offset !== log.offset) return;
    log.offset = next;
    log.lines.addText(ended ? `${text}\u0003` : text);
    this.#notify();
  }

  /** Repeated failures back off, and the page polls meanwhile. */
  #fail(): void {
    this.#close();
    const waitMs = Math.min(retryMaxMs, retryMinMs * 2 ** this.#failures);
    this.#set("retry", waitMs * (0.75 + Math.random() / 2), () => this.#open());
    if (this.#failures > 0) this.#set("poll", 0, () => void this.#poll());
    this.#failures += 1;
  }

  async #poll(): Promise<void> {
    this.#onChange();
    for (const kind of ["plan", "apply"] as const) await this.#readUp(kind).catch(() => undefined);
    const isNeeded = this.#failures > 0 && !document.hidden && !this.#stopped.signal.aborted;
    if (isNeeded && !this.#timers.has("poll")) this.#set("poll", pollMs, () => void this.#poll());
  }

  async #readUp(kind: LogKind): Promise<void> {
    const [log, address] = [this.logs[kind], this.#addresses[kind]];
    if (log === undefined || address === undefined) return;
    while (!log.lines.hasEnded && !log.isPaused) {
      const hasMore = await log.readPiece(address, this.#stopped.signal);
      this.#notify();
      if (!hasMore) return;
    }
  }

  #close(): void {
    this.#source?.close();
    this.#source = undefined;
    for (const name of ["first", "retry", "poll"] as const) this.#clear(name);
  }

  #notify(): void {
    this.#revision += 1;
    for (const listener of this.#listeners) listener();
  }

  #set(name: TimerName, ms: number, work: () => void): void {
    this.#clear(name);
    const timer = setTimeout(() => {
      this.#timers.delete(name);
      work();
    }, ms);
    this.#timers.set(name, timer);
  }

  #clear(name: TimerName): void {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}
