/** An OAuth token, which connects workspaces to a VCS provider. Its secrets are never returned. */
import type { OrganizationStanding } from "../../../access/organization.ts";
import type { OauthTokenTable } from "../../../database/schema/connections.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { sshKey } from "../oauth-clients/definition.ts";

export interface OauthTokenView extends Omit<OauthTokenTable, "secret" | "sshKey"> {
  readonly hasSshKey: number;
  readonly standing: OrganizationStanding;
}

const readers =
  "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token";
const writers = "an owner, a team with 'manage-vcs-settings', or the organization's token";
const ofToken = "/oauth-tokens/:oauth_token_id";

export const oauthTokens = defineResource<OauthTokenView>()(({ optional, readOnly, toOne }) => ({
  type: "oauth-tokens",
  doc: "Connects workspaces to version control. It is created with its OAuth client; its secrets are never shown.",
  id: (token) => token.id,
  version: (token) => token.version,
  attributes: {
    uid: readOnly(text(), "Always empty, because the provider is not asked whose token it is.", { audited: false }),
    "service-provider-user": readOnly(text(), "Always empty, because the provider is not asked whose token it is.", {
      audited: false,
    }),
    "has-ssh-key": readOnly(flag(), "Whether repositories are cloned with an SSH key."),
    "ssh-key": optional(sshKey.nullable(), "A private key for cloning, in PEM form; never shown. Null removes it.", {
      shown: false,
      audited: false,
      column: false,
    }),
    "created-at": readOnly(timestamp(), "When it was created."),
  },
  relationships: {
    "oauth-client": toOne("oauth-clients", "The connection that the token belongs to.", {
      id: (token) => token.oauthClientId,
      related: (token) => `/api/v2/oauth-clients/${token.oauthClientId}`,
    }),
  },
  links: (token) => ({ self: `/api/v2/oauth-tokens/${token.id}` }),
  operations: {
    listOauthTokens: {
      method: "GET",
      path: "/organizations/:organization_name/oauth-tokens",
      summary: "List the OAuth tokens of an organization, oldest first",
      needs: readers,
      query: { paged: true },
      answer: "list",
    },
    listOauthClientTokens: {
      method: "GET",
      path: "/oauth-clients/:oauth_client_id/oauth-tokens",
      summary: "List the OAuth tokens of a connection, oldest first",
      needs: readers,
      query: { paged: true },
      answer: "list",
    },
    showOauthToken: {
      method: "GET",
      path: ofToken,
      summary: "Show an OAuth token, without its secrets",
      needs: readers,
      answer: "document",
    },
    updateOauthToken: {
      method: "PATCH",
      path: ofToken,
      summary: "Set or remove the SSH key of an OAuth token",
      needs: writers,
      body: "update",
      answer: "document",
      example: { data: { type: "oauth-tokens", attributes: { "ssh-key": null } } },
    },
    deleteOauthToken: {
      method: "DELETE",
      path: ofToken,
      summary: "Delete an OAuth token; workspaces that use it are disconnected from their repositories",
      needs: writers,
      answer: "nothing",
    },
  },
}));
