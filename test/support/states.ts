/** Creates states and writes them as engines do. */
import { createHash, randomBytes } from "node:crypto";
import { request } from "node:http";
import { createVault } from "../../src/database/vault.ts";
import type { JobContext } from "../../src/resources/shared/job-context.ts";
import { LeasedJobRun } from "../../src/jobs/run.ts";
import { operatorContext } from "../../src/service.ts";
import type { Answer, Api, Caller, Json } from "./api.ts";
import { data, resource } from "./builders.ts";

export const lineage = "871d1b4a-e579-fb7c-ffdd-f0c858a647a7";

export interface StateFacts {
  readonly serial?: number;
  readonly lineage?: string;
  readonly outputs?: object;
  readonly resources?: readonly object[];
}

export function stateOf({ serial = 1, lineage: own = lineage, outputs = {}, resources = [] }: StateFacts = {}): string {
  return JSON.stringify({ version: 4, terraform_version: "1.9.5", serial, lineage: own, outputs, resources });
}

/** A state that OpenTofu encrypted, with about this many bytes of data. */
export function encryptedStateOf({ serial = 1, lineage: own = lineage, bytes = 300 } = {}): string {
  const meta = { "key_provider.pbkdf2.main": base64('{"salt":"c2FsdA==","iterations":600000}') };
  const encrypted_data = randomBytes(bytes).toString("base64");
  return JSON.stringify({ serial, lineage: own, meta, encrypted_data, encryption_version: "v0" });
}

export function managed(name: string, count = 1, attributes: object = {}): object {
  const instances = Array.from({ length: count }, (_, index) => ({
    ...(count > 1 && { index_key: index }),
    schema_version: 0,
    attributes: { id: `${name}-${index}`, ...attributes },
  }));
  const provider = 'provider["registry.terraform.io/hashicorp/null"]';
  return { mode: "managed", type: "null_resource", name, provider, instances };
}

export const md5 = (text: string | Uint8Array): string => createHash("md5").update(text).digest("hex");
export const base64 = (text: string): string => Buffer.from(text).toString("base64");

export function stateAttributes(state: string, attributes: object = {}): object {
  const { serial, lineage: own } = JSON.parse(state) as { serial: number; lineage: string };
  return { serial, lineage: own, md5: md5(state), state: base64(state), ...attributes };
}

export function pendingStateAttributes(state: string, attributes: object = {}): object {
  return stateAttributes(state, { state: undefined, ...attributes });
}

export const post = (caller: Caller, workspaceId: string, attributes: object): Promise<Answer> =>
  caller.post(`/workspaces/${workspaceId}/state-versions`, resource("state-versions", attributes));

export const lock = async (caller: Caller, workspaceId: string): Promise<Json> =>
  data(await caller.post(`/workspaces/${workspaceId}/actions/lock`));
export const unlock = async (caller: Caller, workspaceId: string): Promise<Json> =>
  data(await caller.post(`/workspaces/${workspaceId}/actions/unlock`));

export async function writeState(
  caller: Caller,
  workspaceId: string,
  state: string,
  attributes?: object,
): Promise<Json> {
  await lock(caller, workspaceId);
  const version = data(await post(caller, workspaceId, stateAttributes(state, attributes)));
  await unlock(caller, workspaceId);
  return version;
}

/** Without a token: the URL is signed. */
export async function put(url: string, body: string | Uint8Array | ReadableStream): Promise<Answer> {
  const response = await fetch(url, { method: "PUT", body: body as never, duplex: "half" } as RequestInit);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}

export async function fetchState(api: Api, caller: Caller, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(path.startsWith("http") ? path : `${api.url}/api/v2${path}`, {
    headers: { authorization: `Bearer ${caller.token}` },
  });
  return { status: response.status, text: await response.text() };
}

export function stateOfSize(bytes: number, facts: StateFacts = {}): string {
  const filler = randomBytes(Math.ceil(bytes / 2)).toString("hex");
  return stateOf({ ...facts, resources: [...(facts.resources ?? []), managed("filler", 1, { filler })] });
}

export interface SlowPut {
  write(piece: string | Uint8Array): Promise<void>;
  end(rest?: string | Uint8Array): Promise<{ status: number; body: Json }>;
  breakOff(): void;
}

export function slowPut(url: string): SlowPut {
  const sent = request(url, { method: "PUT" });
  const answer = new Promise<{ status: number; body: Json }>((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.once("error", reject);
      response.once("end", () => {
        const text = Buffer.concat(pieces).toString();
        resolve({ status: response.statusCode ?? 0, body: text === "" ? undefined : JSON.parse(text) });
      });
    });
  });
  answer.catch(() => {});
  return {
    write: (piece) => new Promise((resolve) => sent.write(piece, () => resolve())),
    end: (rest = "") => {
      sent.end(rest);
      return answer;
    },
    breakOff: () => sent.destroy(),
  };
}

/** The key of test servers. */
export const vault = createVault(Buffer.alloc(32, 7));

const { capability } = await new Promise<JobContext>((resolve) => {
  const job = { name: "test", doc: "", everyMs: 0, run: async (work: JobContext) => (resolve(work), 0) };
  const lease = { job, holder: "test", leaseMs: 1000 };
  const stop = new AbortController().signal;
  void new LeasedJobRun({ job, lease, stop, database: {} as never, context: {} as never }).run();
});

/** The context of a background job. Each step is a transaction; once the signal aborts, it throws. */
export function jobContextOf(
  api: Api,
  options: { edition?: "self-hosted" | "hosted"; signal?: AbortSignal } = {},
): JobContext {
  const { edition = "self-hosted", signal = new AbortController().signal } = options;
  const operator = operatorContext(api.audited, { organizationCreation: "site-admins" }, "job");
  return {
    context: { ...operator, vault, options: { ...operator.options, edition, contentPlace: api.contentPlace } },
    capability,
    signal,
    step: async (work, { isAudited = false } = {}) => {
      signal.throwIfAborted();
      return (isAudited ? api.database : api.audited).write(work);
    },
  };
}
