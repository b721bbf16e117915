/** The calls of the agent protocol, to the server's `agents` and `agent-jobs` routes. */
import type { Engines } from "./engines.ts";
import type { UnavailableVersion } from "./fetching/availability.ts";
import type { JobDocument } from "./job.ts";
import { ServerRejection, type ServerConnection } from "./server.ts";

const base = "/api/v2";
const requestMs = 15_000;
const uploadMs = 600_000;
const retryMs = 60_000;

export interface AgentRegistration {
  readonly name: string;
  readonly version: string;
  readonly engines: Engines;
  readonly sandbox: string;
  /** Whether it fetches versions that it lacks. */
  readonly "fetches-engines": boolean;
}

export interface EngineReport {
  readonly engines: Engines;
  /** Undefined if the agent fetches none. */
  readonly unavailable: readonly UnavailableVersion[] | undefined;
}

const reportBody = ({ engines, unavailable }: EngineReport) => ({
  engines,
  ...(unavailable !== undefined && { "unavailable-engines": unavailable }),
});

export type JobBody = AsyncIterable<Uint8Array>;
export type JobKey = Pick<JobDocument, "id" | "attempt">;

export type AgentStatus = "idle" | "busy" | "exited" | "errored";

export class AgentClient {
  readonly #server: ServerConnection;
  readonly #token: string;

  constructor(server: ServerConnection, token: string) {
    this.#server = server;
    this.#token = token;
  }

  async register(attributes: AgentRegistration, signal: AbortSignal): Promise<string> {
    const json = { data: { type: "agents", attributes } };
    const response = await this.#server.json({ ...this.#post("/agents"), json, timeoutMs: requestMs, signal });
    return (response as { data: { id: string } }).data.id;
  }

  async ping(id: string, status: AgentStatus, report: EngineReport, timeoutMs = requestMs): Promise<void> {
    const json = { status, ...reportBody(report) };
    await this.#server.send({ ...this.#post(`/agents/${id}/actions/ping`), json, timeoutMs });
  }

  async leave(id: string, timeoutMs: number): Promise<void> {
    const path = `${base}/agents/${id}`;
    await this.#server.send({ method: "DELETE", path, token: this.#token, timeoutMs, retryMs: timeoutMs });
  }

  /** Undefined if there is no job. Only the job's process reads the body, because it can be large. */
  async claim(id: string, wait: number, report: EngineReport, signal: AbortSignal): Promise<JobBody | undefined> {
    return this.#server.stream({
      ...this.#post(`/agents/${id}/actions/claim`),
      json: { wait, ...reportBody(report) },
      timeoutMs: Math.ceil(wait * 1000) + requestMs,
      signal,
    });
  }

  /** Long-polls for a signal. Throws JobLost. */
  async heartbeat({ id, attempt }: JobKey, wait: number, stop: AbortSignal): Promise<JobSignal | null> {
    const response = await detectJobLoss(() =>
      this.#server.json({
        ...this.#post(`/agent-jobs/${id}/actions/heartbeat`),
        json: { attempt, wait },
        timeoutMs: wait * 1000 + 6000,
        signal: stop,
      }),
    );
    return (response as { signal?: JobSignal | null } | undefined)?.signal ?? null;
  }

  #post(path: string) {
    return { method: "POST", path: base + path, token: this.#token } as const;
  }
}

/** The job is lost: another agent has it, or it has ended. The server ignores further reports. */
export class JobLost extends Error {
  override readonly name = "JobLost";
}

const jobLostStatuses = [401, 403, 404, 409, 410];

async function detectJobLoss<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof ServerRejection && jobLostStatuses.includes(error.status)) throw new JobLost(error.message);
    throw error;
  }
}

export type JobSignal = "cancel" | "kill";

export type JobContentKind =
  | "plan"
  | "plan-json"
  | "provider-schemas"
  | "lock-file"
  | "generated-configuration"
  | "errored-state";

export interface PhaseResult {
  /** `returned`: the engine could not be had, so another attempt is needed. */
  readonly result: "finished" | "errored" | "canceled" | "returned";
  readonly hasChanges?: boolean;
  readonly additions?: number;
  readonly changes?: number;
  readonly destructions?: number;
  readonly imports?: number;
  readonly invocations?: number;
  readonly errorMessage?: string | null;
}

export interface StateUpload {
  readonly bytes: Blob;
  readonly md5: string;
  readonly serial: number;
  readonly lineage: string;
}

/** Each call is retried until it succeeds or `lost` aborts it. */
export class JobClient {
  readonly #server: ServerConnection;
  readonly #token: string;
  readonly #job: JobDocument;
  readonly #lost: AbortSignal;

  constructor(server: ServerConnection, token: string, job: JobDocument, lost: AbortSignal) {
    this.#server = server;
    this.#token = token;
    this.#job = job;
    this.#lost = lost;
  }

  async start(): Promise<void> {
    const json = { attempt: this.#job.attempt };
    await detectJobLoss(() => this.#server.send({ ...this.#action("start"), json, ...this.#retryOptions() }));
  }

  async log(offset: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    const path = this.#path(`/log?attempt=${this.#job.attempt}&offset=${offset}`);
    await detectJobLoss(() =>
      this.#server.send({ method: "PUT", path, token: this.#token, bytes, ...this.#retryOptions() }),
    );
  }

  async putContent(kind: JobContentKind, bytes: Uint8Array<ArrayBuffer> | Blob): Promise<void> {
    const path = this.#path(`/contents/${kind}?attempt=${this.#job.attempt}`);
    const call = {
      method: "PUT",
      path,
      token: this.#token,
      bytes,
      ...this.#retryOptions(),
      timeoutMs: uploadMs,
    } as const;
    await detectJobLoss(() => this.#server.send(call));
  }

  async getContent(kind: JobContentKind, file: string): Promise<boolean> {
    const path = this.#path(`/contents/${kind}?attempt=${this.#job.attempt}`);
    const call = { method: "GET", path, token: this.#token, ...this.#retryOptions(), timeoutMs: uploadMs } as const;
    try {
      return await this.#server.save(call, file);
    } catch (error) {
      if (error instanceof ServerRejection && error.status === 404) return false;
      throw error;
    }
  }

  async finish(outcome: PhaseResult): Promise<void> {
    const json = {
      attempt: this.#job.attempt,
      result: outcome.result,
      "has-changes": outcome.hasChanges ?? false,
      "resource-additions": outcome.additions ?? 0,
      "resource-changes": outcome.changes ?? 0,
      "resource-destructions": outcome.destructions ?? 0,
      "resource-imports": outcome.imports ?? 0,
      "action-invocations": outcome.invocations ?? 0,
      "error-message": outcome.errorMessage ?? null,
    };
    await detectJobLoss(() => this.#server.send({ ...this.#action("finish"), json, ...this.#retryOptions() }));
  }

  async download(url: string, file: string): Promise<void> {
    const path = this.#server.addressOf(url, this.#job.server);
    const call = { method: "GET", path, token: this.#job.token, ...this.#retryOptions(), timeoutMs: uploadMs } as const;
    if (!(await this.#server.save(call, file))) throw new Error(`The server returned no content for ${url}.`);
  }

  /** Uses the public API with the run's own token. Throws ServerRejection. */
  async writeState(state: StateUpload): Promise<void> {
    const response = (await this.#server.json({
      method: "POST",
      path: `${base}/workspaces/${this.#job.workspaceId}/state-versions`,
      token: this.#job.token,
      json: {
        data: {
          type: "state-versions",
          attributes: {
            serial: state.serial,
            lineage: state.lineage,
            md5: state.md5,
          },
          relationships: { run: { data: { type: "runs", id: this.#job.runId } } },
        },
      },
      ...this.#retryOptions(),
    })) as { data: { attributes: { "hosted-state-upload-url"?: string | null } } };
    const url = response.data.attributes["hosted-state-upload-url"];
    if (!url) throw new ServerRejection(500, "The server returned no upload URL for the state.");
    const path = this.#server.addressOf(url, this.#job.server);
    await this.#server.send({
      method: "PUT",
      path,
      token: null,
      bytes: state.bytes,
      ...this.#retryOptions(),
      timeoutMs: uploadMs,
    });
  }

  #path(rest: string): string {
    return `${base}/agent-jobs/${this.#job.id}${rest}`;
  }

  #action(name: string) {
    return { method: "POST", path: this.#path(`/actions/${name}`), token: this.#token } as const;
  }

  #retryOptions() {
    return { timeoutMs: requestMs, retryMs, signal: this.#lost } as const;
  }
}
