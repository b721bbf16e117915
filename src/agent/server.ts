/** HTTP requests to the server, with timeouts and retries. It doesn't know the routes. */
import { open } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { wholeBody } from "../kernel/streams.ts";

export class ServerRejection extends Error {
  override readonly name = "ServerRejection";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class ServerUnreachable extends Error {
  override readonly name = "ServerUnreachable";
}

export interface ServerRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Null for signed URLs. */
  readonly token: string | null;
  readonly json?: unknown;
  readonly bytes?: Uint8Array<ArrayBuffer> | Blob;
  /** Per attempt. */
  readonly timeoutMs: number;
  /** Absent for a single attempt. */
  readonly retryMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const mediaType = "application/vnd.api+json";
const pauseMsMin = 200;
const pauseMsMax = 4000;

export class ServerConnection {
  readonly url: string;

  constructor(url: string) {
    this.url = url;
  }

  /** A server's restart can interrupt a response at any byte. The time limit restarts when an attempt gets further than all before. */
  async #withRetries<Result>(
    call: ServerRequest,
    use: (response: Response, progress: (bytes: number) => void) => Promise<Result>,
  ) {
    let until = performance.now() + (call.retryMs ?? 0);
    let mostBytes = 0;
    const progress = (bytes: number) => {
      if (bytes <= mostBytes) return;
      mostBytes = bytes;
      until = performance.now() + (call.retryMs ?? 0);
    };
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await use(await this.#once(call), progress);
      } catch (error) {
        call.signal?.throwIfAborted();
        const wait = pauseMs(attempt, error);
        if (wait === undefined || performance.now() + wait > until) throw error;
        await pause(wait, undefined, { signal: call.signal }).catch(() => call.signal?.throwIfAborted());
      }
    }
  }

  async json(call: ServerRequest): Promise<unknown> {
    return this.#withRetries(call, async (response) => {
      try {
        return response.status === 204 ? undefined : await response.json();
      } catch (error) {
        throw this.#interrupted(causeOf(error));
      }
    });
  }

  /** Undefined if there is no body. Throws ServerUnreachable if it is interrupted. */
  async stream(call: ServerRequest): Promise<AsyncIterable<Uint8Array> | undefined> {
    return this.#withRetries(call, async (response) =>
      response.status === 204 || response.body === null ? undefined : this.#completeBody(response, () => undefined),
    );
  }

  /** Returns whether there is a body. Retries overwrite the file, so it must not be read before this returns. */
  async save(call: ServerRequest, path: string): Promise<boolean> {
    return this.#withRetries(call, async (response, progress) => {
      if (response.status === 204 || response.body === null) return false;
      const file = await open(path, "w", 0o600);
      try {
        await file.writeFile(this.#completeBody(response, progress));
      } finally {
        await file.close();
      }
      return true;
    });
  }

  async *#completeBody(response: Response, progress: (bytes: number) => void): AsyncGenerator<Uint8Array> {
    let bytes = 0;
    try {
      for await (const chunk of wholeBody(response)) {
        bytes += chunk.length;
        progress(bytes);
        yield chunk;
      }
    } catch (error) {
      throw this.#interrupted(causeOf(error));
    }
  }

  #interrupted(reason: string): ServerUnreachable {
    return new ServerUnreachable(`The response of ${this.url} was interrupted (${reason}).`);
  }

  async send(call: ServerRequest): Promise<void> {
    await this.#withRetries(call, async (response) => response.body?.cancel());
  }

  async #once({ method, path, token, json, bytes, timeoutMs, signal }: ServerRequest): Promise<Response> {
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
      throw new ServerUnreachable(`${this.url} can't be reached (${causeOf(error)}).`);
    }
    if (response.ok) return response;
    throw await errorOf(response);
  }

  /** URLs from the server begin with its public URL, which can differ from the agent's. */
  addressOf(path: string, publicUrl?: string): string {
    if (path.startsWith("/")) return this.url + path;
    return publicUrl !== undefined && path.startsWith(`${publicUrl}/`) ? this.url + path.slice(publicUrl.length) : path;
  }
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { message?: string; code?: string } };
  return cause?.message || cause?.code || message;
}

async function errorOf(response: Response): Promise<ServerRejection | ServerUnreachable> {
  const text = await response.text().catch(() => "");
  let detail = "";
  try {
    const { errors = [] } = JSON.parse(text) as { errors?: { title?: string; detail?: string }[] };
    detail = errors.map((error) => error.detail ?? error.title ?? "").join(" ");
  } catch {
    // Not JSON, such as the error page of a proxy.
  }
  return new ServerRejection(response.status, detail || `The server responded with status ${response.status}.`);
}

/** With jitter; undefined for errors that a retry can't fix. */
function pauseMs(attempt: number, error: unknown): number | undefined {
  if (error instanceof ServerRejection && error.status < 500 && error.status !== 429 && error.status !== 408)
    return undefined;
  if (!(error instanceof ServerRejection || error instanceof ServerUnreachable)) return undefined;
  return Math.min(pauseMsMax, pauseMsMin * 2 ** Math.min(attempt, 10)) * (0.5 + Math.random());
}
