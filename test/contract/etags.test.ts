/** A document's ETag changes whenever its content does, also if the change is in another row. */
import { describe, expect, it } from "vitest";
import { type Answer, useApi } from "../support/api.ts";
import { resource, unique } from "../support/builders.ts";
import { makeTenant, pathOf, routes, type Tenant } from "../support/tenant.ts";

const api = useApi();

const documents = routes.filter(({ operation }) => operation.method === "GET" && operation.answer === "document");

/** The tenant's documents that have an ETag, by operation. */
async function documentsWithEtag(tenant: Tenant, params: Tenant["params"]): Promise<Map<string, Answer>> {
  const answers = new Map<string, Answer>();
  for (const { id, operation } of documents) {
    const answer = await api.admin.get(pathOf(operation, params));
    if (answer.status === 200 && answer.headers.get("etag") !== null) answers.set(id, answer);
  }
  expect(answers.size).toBeGreaterThan(10);
  return answers;
}

/** The content of a document. */
const contentOf = (answer: Answer) => JSON.stringify(answer.body.data);

interface Change {
  readonly what: string;
  readonly path: (tenant: Tenant) => string;
  readonly type: string;
  readonly attributes: () => Record<string, unknown>;
  /** The path parameter whose value the change replaces. */
  readonly renamed?: string;
}

const changes: Change[] = [
  {
    what: "an organization's name",
    path: ({ name }) => `/organizations/${name}`,
    type: "organizations",
    attributes: () => ({ name: unique("renamed") }),
    renamed: "organization_name",
  },
  {
    what: "an organization's default execution mode",
    path: ({ name }) => `/organizations/${name}`,
    type: "organizations",
    attributes: () => ({ "default-execution-mode": "local" }),
  },
  {
    what: "a workspace's name",
    path: ({ params }) => `/workspaces/${params["workspace_id"]}`,
    type: "workspaces",
    attributes: () => ({ name: unique("renamed") }),
    renamed: "workspace_name",
  },
  {
    what: "a project's name",
    path: ({ projectId }) => `/projects/${projectId}`,
    type: "projects",
    attributes: () => ({ name: unique("renamed") }),
  },
  {
    what: "a project's default execution mode",
    path: ({ projectId }) => `/projects/${projectId}`,
    type: "projects",
    attributes: () => ({ "default-execution-mode": "local" }),
  },
  {
    what: "a team's name",
    path: ({ teamId }) => `/teams/${teamId}`,
    type: "teams",
    attributes: () => ({ name: unique("renamed") }),
  },
  {
    what: "a user's name",
    path: ({ member }) => `/admin/users/${member.id}`,
    type: "users",
    attributes: () => ({ username: unique("renamed") }),
  },
  {
    what: "the name of a connection to version control",
    path: ({ params }) => `/oauth-clients/${params["oauth_client_id"]}`,
    type: "oauth-clients",
    attributes: () => ({ name: unique("renamed") }),
  },
  {
    what: "a variable set's name",
    path: ({ params }) => `/varsets/${params["varset_id"]}`,
    type: "varsets",
    attributes: () => ({ name: unique("renamed") }),
  },
];

/** The effects of a request are computed for each read, as a preview; its ETag covers what is stored, and `access-version` the rest. */
const computedOnRead: readonly string[] = ["showAccessRequest"];

describe("a document with different content has a different ETag", () => {
  it.each(changes)("after a change of $what", async ({ path, type, attributes, renamed }) => {
    const tenant = await makeTenant(api);
    const workspace = `/workspaces/${tenant.params["workspace_id"]}`;
    const repo = { identifier: "acme/network", "oauth-token-id": tenant.params["oauth_token_id"] };
    expect((await api.admin.patch(workspace, resource("workspaces", { "vcs-repo": repo }))).status).toBe(200);
    const before = await documentsWithEtag(tenant, tenant.params);
    const sent = attributes();
    const changed = await api.admin.patch(path(tenant), resource(type, sent));
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    const params = renamed === undefined ? tenant.params : { ...tenant.params, [renamed]: String(sent["name"]) };
    const after = await documentsWithEtag(tenant, params);
    const undetected = [...after].filter(([id, answer]) => {
      const old = before.get(id);
      return (
        old !== undefined &&
        !computedOnRead.includes(id) &&
        contentOf(old) !== contentOf(answer) &&
        old.headers.get("etag") === answer.headers.get("etag")
      );
    });
    expect(undetected.map(([id]) => id)).toEqual([]);
    expect(contentOf(changed)).not.toBe("");
  });
});
