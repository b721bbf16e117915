/** The servers of a proof, which of them may be down, and the shared history. */
import { exchange, type Expected, type Json, judge, judgeSilence, type Reply, send, type Target } from "./client.ts";
import type { Event, History } from "./history.ts";

/** A request, with its description for the history. */
export interface ProofRequest extends Pick<Event, "proof" | "key" | "kind" | "by" | "isWrite"> {
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Raw bytes to a path from the server's root, without a token: contents and webhooks. */
  readonly raw?: { readonly bytes: string | Uint8Array; readonly headers?: Readonly<Record<string, string>> };
  readonly expected: Expected;
  /** The value for the history: what was written, or what the response shows. */
  readonly value?: string | ((document: Json) => string);
  /** The value if the response is `declined`. */
  readonly valueDeclined?: string;
  readonly server?: Target;
}

export interface ProofResponse {
  readonly outcome: Event["outcome"];
  readonly document: Json;
}

export class Stage {
  readonly history: History;
  readonly servers: readonly Target[];
  readonly #down = new Map<string, { fromMs: number; toMs: number }[]>();

  constructor(servers: readonly Target[], history: History) {
    this.servers = servers;
    this.history = history;
  }

  /** From now on, missing responses are no fault. */
  goesDown({ name }: Target): void {
    const spans = this.#down.get(name) ?? [];
    spans.push({ fromMs: performance.now(), toMs: Number.POSITIVE_INFINITY });
    this.#down.set(name, spans);
  }

  isBack({ name }: Target): void {
    const span = this.#down.get(name)?.at(-1);
    if (span !== undefined) span.toMs = performance.now();
  }

  any(): Target {
    return this.servers[Math.floor(Math.random() * this.servers.length)] as Target;
  }

  async ask(request: ProofRequest): Promise<ProofResponse> {
    const server = request.server ?? this.any();
    const { token, method, path, body, headers, raw, expected } = request;
    const calledMs = performance.now();
    let reply: Reply | undefined;
    let silence: unknown;
    try {
      reply =
        raw === undefined
          ? await send(server, token, method, path, body, headers)
          : await exchange(`${server.url}${path}`, method, raw.headers ?? {}, raw.bytes);
    } catch (error) {
      silence = error;
    }
    const answeredMs = performance.now();
    const judged =
      reply === undefined ? judgeSilence(silence, this.#wasDown(server, calledMs)) : judge(reply, expected);
    const document = reply?.text ? parsed(reply.text) : undefined;
    const { proof, key, kind, by, isWrite } = request;
    const requestId = reply?.headers["x-request-id"];
    this.history.add({
      proof,
      key,
      kind,
      by,
      isWrite,
      server: server.name,
      calledMs,
      answeredMs,
      value: judged.outcome === "declined" ? (request.valueDeclined ?? "") : valueOf(request, judged.outcome, document),
      ...judged,
      status: reply?.status ?? 0,
      ...(typeof requestId === "string" && { requestId }),
    });
    return { outcome: judged.outcome, document };
  }

  #wasDown({ name }: Target, sinceMs: number): boolean {
    return (this.#down.get(name) ?? []).some(({ toMs }) => toMs >= sinceMs);
  }
}

function valueOf({ value = "" }: ProofRequest, outcome: Event["outcome"], document: Json): string {
  if (typeof value === "string") return value;
  return outcome === "done" ? value(document?.data) : "";
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
