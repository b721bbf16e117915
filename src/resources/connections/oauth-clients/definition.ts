/**
 * An OAuth client: an organization's connection to a version control provider. It is only stored here; the room `vcs` uses it. Its
 * secrets go in and never come out, but for a webhook's that was made here, which is told once.
 */
import type { Standing } from "../../../access/organization.ts";
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

/** Sealed, and not part of what is loaded to be shown. */
export type ClientSecrets = "secret" | "webhookSecret" | "formerWebhookSecret" | "formerWebhookSecretUntil";

export interface OauthClientView extends Omit<OauthClientTable, ClientSecrets>, OrganizationFacts {
  /** Only where it was made a moment ago. */
  readonly madeWebhookSecret?: string | undefined;
  readonly standing: Standing;
  /** Oldest first. */
  readonly tokenIds: readonly string[];
  /** In the order of their ids. */
  readonly projectIds: readonly string[];
}

const name = text({ min: 1, max: 255, pattern: /\S/, sentence: "can't be blank" });
const url = text({
  min: 1,
  max: 2048,
  pattern: /^https?:\/\/[^\s/@]+(\/\S*)?$/,
  sentence: "must be an address that begins with http:// or https://, without a user name",
});
const key = text({ min: 1, max: 4096 });
const secret = text({ min: 1, max: 16_384 });
const webhookSecret = text({
  min: 16,
  max: 256,
  pattern: /^[!-~]+$/,
  sentence: "may only contain printable characters without blanks",
});
/** Sealed, here or in the token, and never shown. */
const hidden = { shown: false, audited: false, column: false } as const;

const readers =
  "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token";
const writers = "an owner, a team with 'manage-vcs-settings', or the organization's token";
const include = ["oauth_tokens", "projects"] as const;
const ofClient = "/oauth-clients/:oauth_client_id";
const ofProjects = `${ofClient}/relationships/projects` as const;
const projectExample = { data: [{ type: "projects", id: "prj-1234567890abcdef" }] };

export const oauthClients = defineResource<OauthClientView>()(({ fixed, once, optional, readOnly, toOne, toMany }) => ({
  type: "oauth-clients",
  doc: "An organization's connection to a version control provider: where its API is, and the secrets between the two.",
  id: (client) => client.id,
  version: (client) => [client.version, client.organizationFacts],
  attributes: {
    name: optional(nullIfBlank(name), "What people call it.", { default: null }),
    // What a stored secret was made for never changes under it: it would be sent to whoever set the new address.
    "service-provider": once(oneOf(serviceProviders), "Which kind of provider it is."),
    "service-provider-display-name": readOnly(text(), "The provider's name, for people.", {
      from: (client) => providerNames[client.serviceProvider as keyof typeof providerNames],
      audited: false,
    }),
    "api-url": once(url, "Where the provider's API is."),
    "http-url": once(url, "The provider's home page."),
    key: optional(nullIfBlank(key), "The key of the application at the provider.", { default: null }),
    secret: optional(secret.nullable(), "The secret of the application at the provider; never shown.", hidden),
    "rsa-public-key": optional(
      text({ min: 1, max: 16_384 }).nullable(),
      "The public key of an application link to Bitbucket Data Center.",
      { default: null },
    ),
    "oauth-token-string": optional(
      nullIfBlank(secret),
      "The token that the provider gave out; never shown. It becomes the client's oauth-token.",
      hidden,
    ),
    "private-key": fixed(
      sshKey.nullable(),
      "The SSH key for cloning from Azure DevOps Server, in PEM form; never shown. It becomes the token's.",
      hidden,
    ),
    "webhook-secret": optional(
      webhookSecret.nullable(),
      "By what the provider's webhooks are known to be its own. Made where none is sent, or null, and shown once, in the answer to that. The one before is good for another day.",
      { from: ({ madeWebhookSecret }) => madeWebhookSecret, audited: false, column: false },
    ),
    "organization-scoped": optional(
      flag(),
      "Whether every project of the organization may use it; otherwise only those on its list.",
      { default: true },
    ),
    "callback-url": readOnly(text().nullable(), "Always null: there is no sign-in at the provider.", {
      from: () => null,
      audited: false,
    }),
    "connect-path": readOnly(text().nullable(), "Always null: there is no sign-in at the provider.", {
      from: () => null,
      audited: false,
    }),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization that owns it.", {
      id: (client) => client.organizationName,
      related: (client) => `/api/v2/organizations/${client.organizationName}`,
    }),
    "oauth-tokens": toMany("oauth-tokens", "Its tokens; workspaces are connected by one.", {
      ids: (client) => client.tokenIds,
      related: (client) => `/api/v2/oauth-clients/${client.id}/oauth-tokens`,
    }),
    projects: toMany(
      "projects",
      "The projects whose workspaces may use it where it is not for the whole organization. Up to 100 documents that the caller may read come with `include`.",
      { create: "optional", update: "optional", ids: (client) => client.projectIds },
    ),
  },
  links: (client) => ({ self: `/api/v2/oauth-clients/${client.id}` }),
  operations: {
    listOauthClients: {
      method: "GET",
      path: "/organizations/:organization_name/oauth-clients",
      summary: "List the connections to version control, oldest first",
      needs: readers,
      query: { paged: true, include },
      answer: "list",
    },
    createOauthClient: {
      method: "POST",
      path: "/organizations/:organization_name/oauth-clients",
      summary: "Add a connection to version control",
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
      summary: "Show a connection to version control",
      needs: readers,
      query: { include },
      answer: "document",
    },
    updateOauthClient: {
      method: "PATCH",
      path: ofClient,
      summary:
        "Change a connection to version control, or replace its secrets; a list of projects that is sent replaces the one before",
      needs: writers,
      body: "update",
      answer: "document",
      example: { data: { type: "oauth-clients", attributes: { name: "GitHub" } } },
    },
    deleteOauthClient: {
      method: "DELETE",
      path: ofClient,
      summary: "Delete a connection with its tokens; workspaces that use it lose their repository",
      needs: writers,
      answer: "nothing",
    },
    addOauthClientProjects: {
      method: "POST",
      path: ofProjects,
      summary: "Let the workspaces of projects use a connection",
      needs: writers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
    removeOauthClientProjects: {
      method: "DELETE",
      path: ofProjects,
      ifMatch: true,
      summary: "Let the workspaces of projects use a connection no longer; those that do keep it",
      needs: writers,
      body: { linkage: ["projects"] },
      answer: "nothing",
      example: projectExample,
    },
  },
}));
