/**
 * Requests to the server: by whose token, how long each may take, and which failures are worth another try. Raises `Refused` for
 * what the server does not want, `Unreachable` where nobody answered in time; knows nothing of what is asked.
 */
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { wholeBody } from "../kernel/streams.ts";

/** The server answered, and the answer is no. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly status: number;

  constructor(status: number, sentence: string) {
    super(sentence);
    this.status = status;
  }
}

/** Nobody answered, or nobody could. */
export class Unreachable extends Error {
  override readonly name = "Unreachable";
}

export interface Call {
  readonly method: "GET" | "POST" | "PUT";
  /** A path under the server's address, or a whole URL. */
  readonly path: string;
  /** Null for a URL that is its own permission. */
  readonly token: string | null;
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer> | Blob;
  /** For one try. */
  readonly timeoutMs: number;
  /** How long to go on trying; once, when absent. */
  readonly patienceMs?: number;
  /** Ends everything. */
  readonly signal?: AbortSignal | undefined;
}

const mediaType = "application/vnd.api+json";
const pauseMsMin = 200;
const pauseMsMax = 4000;

export class Server {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /**
   * Asks until an answer was used whole, or patience ends: one can break off at its last byte, when the server is started again.
   * Patience begins anew where more came than ever before.
   */
  async #tried<Answer>(call: Call, use: (response: Response, came: (bytes: number) => void) => Promise<Answer>) {
    let until = performance.now() + (call.patienceMs ?? 0);
    let most = 0;
    const came = (bytes: number) => {
      if (bytes <= most) return;
      most = bytes;
      until = performance.now() + (call.patienceMs ?? 0);
    };
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await use(await this.#once(call), came);
      } catch (error) {
        call.signal?.throwIfAborted();
        const wait = pauseMs(attempt, error);
        if (wait === undefined || performance.now() + wait > until) throw error;
        await pause(wait, undefined, { signal: call.signal }).catch(() => call.signal?.throwIfAborted());
      }
    }
  }

  async json(call: Call): Promise<unknown> {
    return this.#tried(call, async (response) => {
      try {
        return response.status === 204 ? undefined : await response.json();
      } catch (error) {
        throw this.#brokenOff(causeOf(error));
      }
    });
  }

  /** The answer's bytes as they arrive; undefined where there are none. Raises Unreachable where they break off. */
  async stream(call: Call): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#tried(call, async (response) =>
      response.status === 204 || response.body === null ? undefined : this.#whole(response, () => undefined),
    );
  }

  /**
   * The answer's bytes as a file, whole; whether there were any. A try that breaks off leaves the beginning of the file, which the
   * next one overwrites: nobody may read it before this has returned.
   */
  async save(call: Call, path: string): Promise<boolean> {
    return this.#tried(call, async (response, came) => {
      if (response.status === 204 || response.body === null) return false;
      const file = await open(path, "w", 0o600);
      try {
        await file.writeFile(this.#whole(response, came));
      } finally {
        await file.close();
      }
      return true;
    });
  }

  async *#whole(response: Response, came: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const chunk of wholeBody(response)) {
        bytes += chunk.length;
        came(bytes);
        yield chunk;
      }
    } catch (error) {
      throw this.#brokenOff(causeOf(error));
    }
  }

  #brokenOff(how: string): Unreachable {
    return new Unreachable(`The answer of ${this.url} broke off (${how}).`);
  }

  async send(call: Call): Promise<void> {
    await this.#tried(call, async (response) => response.body?.cancel());
  }

  async #once({ method, path, token, json, bytes, timeoutMs, signal }: Call): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs);
    const headers: Record<string, string> = { accept: mediaType };
    if (token !== null) headers["authorization"] = `Bearer ${token}`;
    if (json !== undefined) headers["content-type"] = mediaType;
    if (bytes !== undefined) headers["content-type"] = "application/octet-stream";
    let response: Response;
    try {
      response = await fetch(this.addressOf(path), {
        method,
        headers,
        body: json === undefined ? (bytes ?? null) : JSON.stringify(json),
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw new Unreachable(`${this.url} can't be reached (${causeOf(error)}).`);
    }
    if (response.ok) return response;
    throw await refusal(response);
  }

  /** Addresses that the server hands out begin with its public name; from here it may have another. */
  addressOf(path: string, publicUrl?: string): string {
    if (path.startsWith("/")) return this.url + path;
    return publicUrl !== undefined && path.startsWith(`${publicUrl}/`) ? this.url + path.slice(publicUrl.length) : path;
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}

async function refusal(response: Response): Promise<Refused | Unreachable> {
  const text = await response.text().catch(() => "");
  let detail = "";
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: { title?: string; detail?: string }[] };
    detail = errors.map((error) => error.detail ?? error.title ?? "").join(" ");
  } catch {
    // Some proxy's page.
  }
  return new Refused(response.status, detail || `The server answered with the status ${response.status}.`);
}

/** How long to wait before the next try; undefined for what will not get better. Random, so that agents don't come all at once. */
function pauseMs(attempt: number, error: unknown): number | undefined {
  if (error instanceof Refused && error.status < 500 && error.status !== 429 && error.status !== 408) return undefined;
  if (!(error instanceof Refused || error instanceof Unreachable)) return undefined;
  return Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random());
}
