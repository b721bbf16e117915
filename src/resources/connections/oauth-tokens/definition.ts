/** An OAuth token: what a workspace is connected to version control by. Its secrets go in and never come out. */
import type { Standing } from "../../../access/organization.ts";
import type { OauthTokenTable } from "../../../database/schema/connections.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { sshKey } from "../oauth-clients/definition.ts";

/** The sealed secrets are not part of it: only whether there is an SSH key is shown. */
export interface OauthTokenView extends Omit<OauthTokenTable, "secret" | "sshKey"> {
  readonly hasSshKey: number;
  readonly standing: Standing;
}

const readers =
  "an owner, a team with 'manage-vcs-settings', 'manage-workspaces' or 'manage-projects', or the organization's token";
const writers = "an owner, a team with 'manage-vcs-settings', or the organization's token";
const ofToken = "/oauth-tokens/:oauth_token_id";

export const oauthTokens = defineResource<OauthTokenView>()(({ optional, readOnly, toOne }) => ({
  type: "oauth-tokens",
  doc: "What workspaces are connected to version control by. It is made with its OAuth client; its secrets are never shown.",
  id: (token) => token.id,
  version: (token) => token.version,
  attributes: {
    uid: readOnly(text(), "Always empty: the provider is not asked whose token it is.", { audited: false }),
    "service-provider-user": readOnly(text(), "Always empty: the provider is not asked whose token it is.", {
      audited: false,
    }),
    "has-ssh-key": readOnly(flag(), "Whether repositories are cloned with an SSH key."),
    "ssh-key": optional(sshKey.nullable(), "A private key for cloning, in PEM form; never shown. Null removes it.", {
      shown: false,
      audited: false,
      column: false,
    }),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    "oauth-client": toOne("oauth-clients", "The connection that it belongs to.", {
      id: (token) => token.oauthClientId,
      related: (token) => `/api/v2/oauth-clients/${token.oauthClientId}`,
    }),
  },
  links: (token) => ({ self: `/api/v2/oauth-tokens/${token.id}` }),
  operations: {
    listOauthTokens: {
      method: "GET",
      path: "/organizations/:organization_name/oauth-tokens",
      summary: "List the tokens of an organization's connections, oldest first",
      needs: readers,
      query: { paged: true },
      answer: "list",
    },
    listOauthClientTokens: {
      method: "GET",
      path: "/oauth-clients/:oauth_client_id/oauth-tokens",
      summary: "List the tokens of one connection, oldest first",
      needs: readers,
      query: { paged: true },
      answer: "list",
    },
    showOauthToken: {
      method: "GET",
      path: ofToken,
      summary: "Show a token, without its secrets",
      needs: readers,
      answer: "document",
    },
    updateOauthToken: {
      method: "PATCH",
      path: ofToken,
      summary: "Give a token an SSH key, or take it away",
      needs: writers,
      body: "update",
      answer: "document",
      example: { data: { type: "oauth-tokens", attributes: { "ssh-key": null } } },
    },
    deleteOauthToken: {
      method: "DELETE",
      path: ofToken,
      summary: "Delete a token; workspaces that use it lose their repository",
      needs: writers,
      answer: "nothing",
    },
  },
}));
