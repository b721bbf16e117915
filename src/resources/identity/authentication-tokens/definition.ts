/** A token: the secret by which a user, a team or an organization is known. The secret itself is shown once. */
import type { ShownToken } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choice, searchParameter } from "../../../jsonapi/query.ts";
import { text, timestamp } from "../../../jsonapi/schemas.ts";

export interface TokenView extends ShownToken {
  /** Of the organization that the document shows; a user's token belongs to none. */
  readonly organizationName: string | null;
  readonly organizationFacts?: number | null;
  /** Only in the answer to its creation. */
  readonly secret?: string;
  /** Of a token of an agent pool. */
  readonly agentPoolId?: string;
}

/** The organization's ordinary token, or the one beside it that reads the audit trail and no more. */
const isOrganizations = (kind: string) => kind === "organization" || kind === "audit-trails";

const organizationQuery = {
  parameters: {
    token: choice(
      ["audit-trails"],
      "With `audit-trails`: not the organization's ordinary token, but the one that reads its audit trail and nothing else.",
    ),
  },
} as const;

const example = {
  data: { type: "authentication-tokens", attributes: { description: "CI", "expired-at": "2099-01-31T12:00:00Z" } },
};
const userNeeds = "that user, or a site admin";
const teamNeeds =
  "an owner, a team with 'manage-teams', or a member where the team allows it; nobody gets more than they hold; for the owners team, owners alone";
const organizationNeeds = "an owner, or the organization's token";

export const authenticationTokens = defineResource<TokenView>()(({ fixed, readOnly, toOne }) => ({
  type: "authentication-tokens",
  doc: "The secret by which a user, a team or an organization is known; stored as a hash, shown once.",
  id: (token) => token.id,
  version: (token) => [token.version, token.organizationFacts ?? 0],
  // When it was last used is noted unseen.
  hasExpiring: true,
  attributes: {
    description: fixed(text({ max: 256 }).nullable(), "What the token is for.", { default: null }),
    "expired-at": fixed(
      timestamp().nullable(),
      "When it stops working: two years after it was made, unless another time is sent, or null for never; earlier where the organization bounds how long tokens work. A token of a team or an organization that expires creates none that expires later; a pipeline's creates none.",
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
    "last-used-at": readOnly(timestamp().nullable(), "When it was last used, to within a few seconds.", {
      audited: false,
    }),
    token: readOnly(text().nullable(), "The secret: in the answer to the creation, and never again.", {
      from: (token) => token.secret ?? null,
      audited: false,
    }),
  },
  relationships: {
    "created-by": toOne(["users", "teams", "organizations"], "Who made it.", {
      nullable: true,
      id: ({ createdById }) => createdById,
      type: ({ createdById }) =>
        createdById?.startsWith("team-") ? "teams" : createdById?.startsWith("org-") ? "organizations" : "users",
    }),
    user: toOne("users", "Whose token it is.", { id: ({ userId }) => userId ?? undefined }),
    team: toOne("teams", "Whose token it is.", { id: ({ teamId }) => teamId ?? undefined }),
    organization: toOne("organizations", "Whose token it is.", {
      id: ({ kind, organizationName }) => (isOrganizations(kind) ? organizationName : undefined),
    }),
    "agent-pool": toOne("agent-pools", "Whose agents' token it is.", { id: ({ agentPoolId }) => agentPoolId }),
  },
  links: (token) => ({ self: `/api/v2/authentication-tokens/${token.id}` }),
  operations: {
    createUserToken: {
      method: "POST",
      path: "/users/:user_id/authentication-tokens",
      summary: "Make a token for a user",
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
      needs: "whoever may manage the tokens of its user, team, organization or agent pool",
      answer: "document",
    },
    deleteToken: {
      method: "DELETE",
      path: "/authentication-tokens/:token_id",
      summary: "Revoke a token",
      needs: "whoever may manage the tokens of its user, team, organization or agent pool",
      answer: "nothing",
    },
    replaceTeamToken: {
      method: "POST",
      path: "/teams/:team_id/authentication-token",
      summary: "Make the team's token; the one before stops working",
      needs: teamNeeds,
      body: "optional-create",
      answer: "created",
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
      summary: "Make one more token for a team",
      needs: teamNeeds,
      body: "optional-create",
      answer: "created",
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
        "an owner, a team with 'manage-teams', or the organization's token; shows the tokens that the caller may manage",
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
      summary: "Revoke the tokens of an organization's teams, all at once",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; revokes the tokens that the caller may manage",
      answer: "nothing",
    },
    replaceOrganizationToken: {
      method: "POST",
      path: "/organizations/:organization_name/authentication-token",
      summary: "Make the organization's token; the one before stops working",
      needs: organizationNeeds,
      query: organizationQuery,
      body: "optional-create",
      answer: "created",
      example,
    },
    listOrganizationTokens: {
      method: "GET",
      path: "/organizations/:organization_name/authentication-tokens",
      summary: "List the organization's own token, without its secret; empty where it has none",
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
