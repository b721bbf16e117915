/** Connections to version control, their webhooks, and the job that handles them. */
import type { ServiceOptions } from "../../src/resources/shared/context.ts";
import type { JobContext } from "../../src/resources/shared/job-context.ts";
import { processEvents } from "../../src/resources/vcs/vcs-events/processing.ts";
import type { Api, Caller, Json } from "./api.ts";
import { data, makeWorkspace, type Org, resource } from "./builders.ts";
import { exchange } from "./client.ts";
import { jobContextOf } from "./states.ts";
import { github, type Sent, type TestProvider } from "./vcs-payloads.ts";

export interface TestConnection {
  readonly id: string;
  readonly tokenId: string;
  readonly secret: string;
}

export async function makeConnection(org: Org, attributes: object = {}): Promise<TestConnection> {
  const body = resource("oauth-clients", {
    "service-provider": "github",
    "api-url": "https://api.github.example",
    "http-url": "https://github.example",
    "oauth-token-string": "a token of the provider",
    ...attributes,
  });
  const client = data(await org.owner.post(`/organizations/${org.name}/oauth-clients`, body));
  return {
    id: client.id,
    tokenId: client.relationships["oauth-tokens"].data[0].id,
    secret: client.attributes["webhook-secret"],
  };
}

/** A workspace with remote execution and a repository. The event of connecting is already removed. */
export async function makeConnected(
  api: Api,
  org: Org,
  { tokenId }: TestConnection,
  attributes: object = {},
  repository: object = {},
): Promise<Json> {
  const vcsRepo = { identifier: "acme/network", "oauth-token-id": tokenId, ...repository };
  const settings = { "execution-mode": "remote", "queue-all-runs": true, "vcs-repo": vcsRepo, ...attributes };
  const workspace = await makeWorkspace(api, org.name, settings);
  await api.database.write((tx) => tx.db.deleteFrom("vcsEvents").where("workspaceId", "=", workspace.id).execute());
  return workspace;
}

/** Sends a webhook. */
export async function deliver(
  api: Api,
  clientId: string,
  body: Json,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const sent = { "content-type": "application/json", ...headers };
  return exchange(`${api.url}/webhooks/vcs/${clientId}`, { method: "POST", headers: sent, body: text });
}

/** With a valid signature. Returns the status. */
export async function pushTo(
  api: Api,
  { id, secret }: TestConnection,
  sent: Partial<Sent> = {},
  provider: TestProvider = github,
): Promise<number> {
  const body = provider.push({ repository: provider.repository, ...sent });
  return (await deliver(api, id, body, provider.headers("push", JSON.stringify(body), secret))).status;
}

export function vcsJobContext(api: Api, options: Partial<ServiceOptions> = {}, signal?: AbortSignal): JobContext {
  const job = jobContextOf(api, signal && { signal });
  const context = { ...job.context, options: { ...job.context.options, publicUrl: api.url, ...options } };
  return { ...job, context };
}

export const processVcsEvents = (api: Api, options: Partial<ServiceOptions> = {}): Promise<number> =>
  processEvents(vcsJobContext(api, options));

export const eventsOf = async (caller: Caller, workspaceId: string): Promise<Json[]> =>
  data(await caller.get(`/workspaces/${workspaceId}/vcs-events`));

export const latestDetail = async (caller: Caller, workspaceId: string): Promise<string> =>
  (await eventsOf(caller, workspaceId))[0]?.attributes.detail;
