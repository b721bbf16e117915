/** An OAuth client: an organization's connection to a VCS provider. Secrets are never returned, except a generated one, once. */
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { OauthClientTable } from "../../../database/schema/connections.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, nullIfBlank, oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import type { OrganizationFacts } from "../../identity/organizations/definition.ts";
import { providerNames, serviceProviders } from "./providers.ts";

export const sshKey = text({
  min: 1,
  max: 16_384,
  pattern: /^\s*-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]+-----END [A-Z0-9 ]*PRIVATE KEY-----\s*$/,
  sentence: "is invalid: it must be a private key in PEM form",
});

export type OauthClientSecretColumn = "secret" | "webhookSecret" | "formerWebhookSecret" | "formerWebhookSecretUntil";

export interface OauthClientView extends Omit<OauthClientTable, OauthClientSecretColumn>, OrganizationFacts {
  readonly generatedWebhookSecret?: string | undefined;
  readonly standing: OrganizationStanding;
  /** Oldest first. */
  readonly tokenIds: readonly string[];
  readonly projectIds: readonly string[];
}

const name = text({ min: 1, max: 255, pattern: /\S/, sentence: "can't be blank" });
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s/@]+(\/\S*)?$/,
  sentence: "must begin with http:// or https:// and contain no user name",
});
const key = text({ min: 1, max: 4096 });
const secret = text({ min: 1, max: 16_384 });
const webhookSecret = text({
  min: 16,
  max: 256,
  pattern: /^[!-~]+$/,
  sentence: "can only contain printable characters without spaces",
});
const writeOnly = { shown: false, audited: false, column: false } as const;

const readers =
  "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token";
const writers = "an owner, a team with 'manage-vcs-settings', or the organization's token";
const include = ["oauth_tokens", "projects"] as const;
const ofClient = "/oauth-clients/:oauth_client_id";
const ofProjects = `${ofClient}/relationships/projects` as const;
const projectExample = { data: [{ type: "projects", id: "prj-1234567890abcdef" }] };

export const oauthClients = defineResource<OauthClientView>()(
  ({ fixed, requiredFixed, optional, readOnly, toOne, toMany }) => ({
    type: "oauth-clients",
    doc: "An organization's connection to a version control provider: where its API is, and the secrets between the two.",
    id: (client) => client.id,
    version: (client) => [client.version, client.organizationFactsVersion],
    attributes: {
      name: optional(nullIfBlank(name), "The name, for people.", { default: null }),
      // Fixed, because a stored secret must not be sent to a new address.
      "service-provider": requiredFixed(oneOf(serviceProviders), "The version control provider."),
      "service-provider-display-name": readOnly(text(), "The provider's name, for people.", {
        from: (client) => providerNames[client.serviceProvider as keyof typeof providerNames],
        audited: false,
      }),
      "api-url": requiredFixed(url, "The address of the provider's API."),
      "http-url": requiredFixed(url, "The provider's home page."),
      key: optional(nullIfBlank(key), "The client id or consumer key of the OAuth application at the provider.", {
        default: null,
      }),
      secret: optional(
        secret.nullable(),
        "The client secret of the OAuth application at the provider; never shown.",
        writeOnly,
      ),
      "rsa-public-key": optional(
        text({ min: 1, max: 16_384 }).nullable(),
        "The public key of an application link to Bitbucket Data Center.",
        { default: null },
      ),
      "oauth-token-string": optional(
        nullIfBlank(secret),
        "A token of the provider; never shown. It is stored as the client's oauth-token.",
        writeOnly,
      ),
      "private-key": fixed(
        sshKey.nullable(),
        "The SSH key for cloning from Azure DevOps Server, in PEM form; never shown. It is stored with the oauth-token.",
        writeOnly,
      ),
      "webhook-secret": optional(
        webhookSecret.nullable(),
        "The secret that authenticates the provider's webhooks. If it is absent at creation, or null, a secret is generated and shown once, in the response. After a change, the previous secret stays valid for one day.",
        { from: ({ generatedWebhookSecret }) => generatedWebhookSecret, audited: false, column: false },
      ),
      "organization-scoped": optional(
        flag(),
        "Whether every project of the organization can use it. Otherwise only the listed projects can.",
        { default: true },
      ),
      "callback-url": readOnly(text().nullable(), "Always null, because sign-in at the provider is not supported.", {
        from: () => null,
        audited: false,
      }),
      "connect-path": readOnly(text().nullable(), "Always null, because sign-in at the provider is not supported.", {
        from: () => null,
        audited: false,
      }),
      "created-at": readOnly(timestamp(), "When it was created."),
    },
    relationships: {
      organization: toOne("organizations", "The organization that owns it.", {
        id: (client) => client.organizationName,
        related: (client) => `/api/v2/organizations/${client.organizationName}`,
      }),
      "oauth-tokens": toMany("oauth-tokens", "Its tokens. A workspace is connected to its repository by one of them.", {
        ids: (client) => client.tokenIds,
        related: (client) => `/api/v2/oauth-clients/${client.id}/oauth-tokens`,
      }),
      projects: toMany(
        "projects",
        "The projects whose workspaces can use it, if it is not for the whole organization. `include` adds up to 100 documents that the caller can read.",
        { create: "optional", update: "optional", ids: (client) => client.projectIds },
      ),
    },
    links: (client) => ({ self: `/api/v2/oauth-clients/${client.id}` }),
    operations: {
      listOauthClients: {
        method: "GET",
        path: "/organizations/:organization_name/oauth-clients",
        summary: "List version control connections, oldest first",
        needs: readers,
        query: { paged: true, include },
        answer: "list",
      },
      createOauthClient: {
        method: "POST",
        path: "/organizations/:organization_name/oauth-clients",
        summary: "Create a version control connection",
        needs: writers,
        body: "create",
        answer: "created",
        example: {
          data: {
            type: "oauth-clients",
            attributes: {
              "service-provider": "github",
              "api-url": "https://api.github.com",
              "http-url": "https://github.com",
              "oauth-token-string": "a token of the provider",
            },
          },
        },
      },
      showOauthClient: {
        method: "GET",
        path: ofClient,
        summary: "Show a version control connection",
        needs: readers,
        query: { include },
        answer: "document",
      },
      updateOauthClient: {
        method: "PATCH",
        path: ofClient,
        summary:
          "Update a version control connection, or replace its secrets; a list of projects in the request replaces the stored one",
        needs: writers,
        body: "update",
        answer: "document",
        example: { data: { type: "oauth-clients", attributes: { name: "GitHub" } } },
      },
      deleteOauthClient: {
        method: "DELETE",
        path: ofClient,
        summary:
          "Delete a version control connection and its tokens; workspaces that use it are disconnected from their repositories",
        needs: writers,
        answer: "nothing",
      },
      addOauthClientProjects: {
        method: "POST",
        path: ofProjects,
        summary: "Allow the workspaces of projects to use a connection",
        needs: writers,
        body: { linkage: ["projects"] },
        answer: "nothing",
        example: projectExample,
      },
      removeOauthClientProjects: {
        method: "DELETE",
        path: ofProjects,
        ifMatch: true,
        summary: "Stop allowing the workspaces of projects to use a connection; those that use it already keep it",
        needs: writers,
        body: { linkage: ["projects"] },
        answer: "nothing",
        example: projectExample,
      },
    },
  }),
);
