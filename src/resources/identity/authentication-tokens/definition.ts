/** The API token resource: authenticates a user, a team or an organization. The secret is shown only once. */
import type { ShownToken } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter, searchParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface TokenView extends ShownToken {
  readonly organizationName: string | null;
  readonly organizationFactsVersion?: number | null;
  readonly secret?: string;
  readonly agentPoolId?: string;
}

const isOrganizationToken = (kind: string) => kind === "organization" || kind === "audit-trails";

const organizationQuery = {
  parameters: {
    token: choiceParameter(
      ["audit-trails"],
      "Set it to `audit-trails` to select the token that can only read the audit log, instead of the organization's ordinary token.",
    ),
  },
} as const;

const example = {
  data: { type: "authentication-tokens", attributes: { description: "CI", "expired-at": "2099-01-31T12:00:00Z" } },
};
const userNeeds = "that user, or a site admin";
const teamNeeds =
  "an owner, a team with 'manage-teams', or a member if the team allows it; the team can't have more access than the caller; for the owners team, owners only";
const organizationNeeds = "an owner, or the organization's token";

export const authenticationTokens = defineResource<TokenView>()(({ fixed, readOnly, toOne }) => ({
  type: "authentication-tokens",
  doc: "An API token of a user, a team or an organization. The secret is stored as a hash and shown only once.",
  id: (token) => token.id,
  version: (token) => [token.version, token.organizationFactsVersion ?? 0],
  // `last-used-at` changes without a new version.
  isUncacheable: true,
  attributes: {
    description: fixed(text({ max: 256 }).nullable(), "What the token is for.", { default: null }),
    "expired-at": fixed(
      timestamp().nullable(),
      "When the token expires; null for never. The default is two years after creation, or earlier if the organization limits token lifetimes. A team or organization token that expires can't create tokens that expire later, and a pipeline's token can't create tokens.",
    ),
    "created-at": readOnly(timestamp(), "When the token was created."),
    "last-used-at": readOnly(timestamp().nullable(), "When the token was last used, accurate to a few seconds.", {
      audited: false,
    }),
    token: readOnly(text().nullable(), "The secret. It is shown only in the response that creates the token.", {
      from: (token) => token.secret ?? null,
      audited: false,
    }),
  },
  relationships: {
    "created-by": toOne(["users", "teams", "organizations"], "The creator of the token.", {
      nullable: true,
      id: ({ createdById }) => createdById,
      type: ({ createdById }) =>
        createdById?.startsWith("team-") ? "teams" : createdById?.startsWith("org-") ? "organizations" : "users",
    }),
    user: toOne("users", "The user that the token belongs to.", { id: ({ userId }) => userId ?? undefined }),
    team: toOne("teams", "The team that the token belongs to.", { id: ({ teamId }) => teamId ?? undefined }),
    organization: toOne("organizations", "The organization that the token belongs to.", {
      id: ({ kind, organizationName }) => (isOrganizationToken(kind) ? organizationName : undefined),
    }),
    "agent-pool": toOne("agent-pools", "The agent pool that the token belongs to.", {
      id: ({ agentPoolId }) => agentPoolId,
    }),
  },
  links: (token) => ({ self: `/api/v2/authentication-tokens/${token.id}` }),
  operations: {
    createUserToken: {
      method: "POST",
      path: "/users/:user_id/authentication-tokens",
      summary: "Create a token for a user",
      needs: userNeeds,
      body: "optional-create",
      answer: "created",
      example,
    },
    listUserTokens: {
      method: "GET",
      path: "/users/:user_id/authentication-tokens",
      summary: "List a user's tokens, without their secrets",
      needs: userNeeds,
      query: { paged: true },
      answer: "list",
    },
    showToken: {
      method: "GET",
      path: "/authentication-tokens/:token_id",
      summary: "Show a token, without its secret",
      needs: "anyone who can manage the tokens of its user, team, organization or agent pool",
      answer: "document",
    },
    deleteToken: {
      method: "DELETE",
      path: "/authentication-tokens/:token_id",
      summary: "Revoke a token",
      needs: "anyone who can manage the tokens of its user, team, organization or agent pool",
      answer: "nothing",
    },
    replaceTeamToken: {
      method: "POST",
      path: "/teams/:team_id/authentication-token",
      summary: "Create the team's token; the previous one stops working",
      needs: teamNeeds,
      body: "optional-create",
      answer: "created",
      mayWarn: true,
      example,
    },
    showTeamToken: {
      method: "GET",
      path: "/teams/:team_id/authentication-token",
      summary: "Show the team's token, without its secret",
      needs: teamNeeds,
      answer: "document",
    },
    deleteTeamToken: {
      method: "DELETE",
      path: "/teams/:team_id/authentication-token",
      summary: "Revoke the team's token",
      needs: teamNeeds,
      answer: "nothing",
    },
    createTeamToken: {
      method: "POST",
      path: "/teams/:team_id/authentication-tokens",
      summary: "Create an additional token for a team",
      needs: teamNeeds,
      body: "optional-create",
      answer: "created",
      mayWarn: true,
      example,
    },
    listTeamTokens: {
      method: "GET",
      path: "/teams/:team_id/authentication-tokens",
      summary: "List a team's tokens, without their secrets",
      needs: teamNeeds,
      query: { paged: true },
      answer: "list",
    },
    listOrganizationTeamTokens: {
      method: "GET",
      path: "/organizations/:organization_name/team-tokens",
      summary: "List the tokens of an organization's teams, without their secrets",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; lists the tokens that the caller can manage",
      query: {
        paged: true,
        sort: ["team-name", "created-by", "expired-at", "last-used-at"],
        parameters: { q: searchParameter("the team's name") },
      },
      answer: "list",
    },
    deleteOrganizationTeamTokens: {
      method: "DELETE",
      path: "/organizations/:organization_name/team-tokens",
      ifMatch: false,
      summary: "Revoke all tokens of an organization's teams",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; revokes the tokens that the caller can manage",
      answer: "nothing",
    },
    replaceOrganizationToken: {
      method: "POST",
      path: "/organizations/:organization_name/authentication-token",
      summary: "Create the organization's token; the previous one stops working",
      needs: organizationNeeds,
      query: organizationQuery,
      body: "optional-create",
      answer: "created",
      mayWarn: true,
      example,
    },
    listOrganizationTokens: {
      method: "GET",
      path: "/organizations/:organization_name/authentication-tokens",
      summary: "List the organization's own token, without its secret; empty if there is none",
      needs: organizationNeeds,
      query: { ...organizationQuery, paged: true },
      answer: "list",
    },
    showOrganizationToken: {
      method: "GET",
      path: "/organizations/:organization_name/authentication-token",
      summary: "Show the organization's token, without its secret",
      needs: organizationNeeds,
      query: organizationQuery,
      answer: "document",
    },
    deleteOrganizationToken: {
      method: "DELETE",
      path: "/organizations/:organization_name/authentication-token",
      summary: "Revoke the organization's token",
      needs: organizationNeeds,
      query: organizationQuery,
      answer: "nothing",
    },
  },
}));
