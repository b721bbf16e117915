/** Creates and uploads configurations. */
import type { Answer, Api, Caller, Json } from "./api.ts";
import { archive, type Entry } from "./archives.ts";
import { data, resource } from "./builders.ts";
import type { ConfigurationCommit } from "../../src/resources/runs/configuration-versions/rules.ts";
import { createFetchedConfiguration } from "../../src/resources/runs/configuration-versions/upload.ts";
import type { ConfigurationVersionTable } from "../../src/database/schema/runs.ts";
import { put, jobContextOf } from "./states.ts";

export const mainTf: Entry = { name: "main.tf", content: 'resource "null_resource" "one" {}\n' };

export const createConfiguration = (caller: Caller, workspaceId: string, attributes: object = {}): Promise<Answer> =>
  caller.post(
    `/workspaces/${workspaceId}/configuration-versions`,
    resource("configuration-versions", { "auto-queue-runs": false, ...attributes }),
  );

export const configurationUrlOf = (version: Json): string => version.attributes["upload-url"];

/** Queues no run. */
export async function uploadConfiguration(
  caller: Caller,
  workspaceId: string,
  attributes: object = {},
  entries: readonly (Entry | Buffer)[] = [mainTf],
): Promise<Json> {
  const version = data(await createConfiguration(caller, workspaceId, attributes));
  data(await put(configurationUrlOf(version), archive(entries)));
  return data(await caller.get(`/configuration-versions/${version.id}`));
}

export async function fetchBytes(
  api: Api,
  caller: Caller,
  path: string,
): Promise<{ status: number; bytes: Buffer; type: string | null }> {
  const response = await fetch(`${api.url}/api/v2${path}`, { headers: { authorization: `Bearer ${caller.token}` } });
  const bytes = Buffer.from(await response.arrayBuffer());
  return { status: response.status, bytes, type: response.headers.get("content-type") };
}

export const commit: ConfigurationCommit = {
  source: "github",
  ingress: {
    branch: "main",
    cloneUrl: "https://github.com/acme/network.git",
    commitMessage: "Add a network",
    commitSha: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
    commitUrl: "https://github.com/acme/network/commit/9f86d08",
    compareUrl: null,
    identifier: "acme/network",
    isPullRequest: false,
    onDefaultBranch: true,
    pullRequestNumber: null,
    pullRequestUrl: null,
    pullRequestTitle: null,
    pullRequestBody: null,
    tag: null,
    senderUsername: "ada",
    senderAvatarUrl: null,
    senderHtmlUrl: "https://github.com/ada",
  },
};

export async function storeCommit(
  api: Api,
  workspace: { readonly id: string; readonly organizationId: string },
  attributes: object = {},
): Promise<ConfigurationVersionTable> {
  return api.database.write((tx) => createFetchedConfiguration(tx, jobContextOf(api), workspace, commit, attributes));
}
