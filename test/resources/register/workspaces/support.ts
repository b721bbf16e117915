/** Shared by the tests of workspaces: connections, columns that no request sets, and the two paths of a workspace. */
import { incrementedVersion } from "../../../../src/resources/shared/versions.ts";
import type { WorkspaceTable } from "../../../../src/database/schema/workspaces.ts";
import type { Answer, Api, Json } from "../../../support/api.ts";
import { data, resource, unique } from "../../../support/builders.ts";

/** The two paths of a workspace; operations on them behave the same. */
export const pathById = (workspace: Json): string => `/workspaces/${workspace.id}`;
export const pathByName = (workspace: Json): string =>
  `/organizations/${workspace.relationships.organization.data.id}/workspaces/${workspace.attributes.name}`;

export const bothPaths: readonly (readonly [string, (workspace: Json) => string])[] = [
  ["by id", pathById],
  ["by organization and name", pathByName],
];

/** Sets columns that otherwise only runs, state and time set. */
export async function setColumns(api: Api, workspaceId: string, columns: Partial<WorkspaceTable>): Promise<void> {
  await api.database.write((tx) =>
    tx.db
      .updateTable("workspaces")
      .set({ ...columns, ...incrementedVersion })
      .where("id", "=", workspaceId)
      .execute(),
  );
}

export async function makeAgentPool(api: Api, organizationName: string): Promise<string> {
  const body = resource("agent-pools", { name: unique("pool") });
  return data(await api.admin.post(`/organizations/${organizationName}/agent-pools`, body)).id;
}

export async function makeSshKey(api: Api, organizationName: string): Promise<string> {
  const body = resource("ssh-keys", { name: unique("key"), value: "a private key" });
  return data(await api.admin.post(`/organizations/${organizationName}/ssh-keys`, body)).id;
}

/** Creates a VCS connection and returns the id of its token. */
export async function makeOauthToken(api: Api, organizationName: string, attributes: object = {}): Promise<string> {
  const body = resource("oauth-clients", {
    "service-provider": "github",
    "api-url": "https://api.github.com",
    "http-url": "https://github.com",
    "oauth-token-string": "a token of the provider",
    ...attributes,
  });
  const client = data(await api.admin.post(`/organizations/${organizationName}/oauth-clients`, body));
  return client.relationships["oauth-tokens"].data[0].id;
}

/** The relationship that gives a new workspace flat tags. */
export const tagged = (...names: string[]) => ({
  tags: { data: names.map((name) => ({ type: "tags", attributes: { name } })) },
});

/** The relationship that gives a workspace key-value tags. */
export const bound = (bindings: Record<string, string>) => ({
  "tag-bindings": {
    data: Object.entries(bindings).map(([key, value]) => ({ type: "tag-bindings", attributes: { key, value } })),
  },
});

/** The errors of a response as pairs of pointer and detail. */
export const faults = (answer: Answer): [string, string][] =>
  (answer.body?.errors ?? []).map((error: Json) => [error.source?.pointer ?? error.source?.parameter, error.detail]);

/** The fault of one attribute. */
export const at = (attribute: string, detail: string): [string, string] => [`/data/attributes/${attribute}`, detail];
