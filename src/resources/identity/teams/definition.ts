/** The team resource. */
import {
  organizationAccessOf,
  organizationPermissionNames,
  type OrganizationStanding,
} from "../../../access/organization.ts";
import { teamPermissions } from "../../../access/permissions/organization.ts";
import type { TeamTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { listParameter, searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { type GrantExpiry, expiryMeta, shownExpiry } from "../../shared/grants/expiry.ts";
import type { RuledFacts } from "../organizations/definition.ts";

export interface TeamView extends TeamTable, RuledFacts {
  readonly standing: OrganizationStanding;
  readonly includesActor: number;
  /** Ended members who are still in `usersCount`, because the cleanup job has not run yet. */
  readonly endedMemberships?: number;
  readonly userIds?: readonly string[];
  readonly membershipIds?: readonly string[];
  readonly expiries?: ReadonlyMap<string, GrantExpiry>;
}

const name = text({
  min: 1,
  max: 90,
  pattern: /^(?! )[A-Za-z0-9 _/-]+(?<! )$/,
  sentence:
    "may only contain letters, numbers, spaces, slashes, dashes and underscores, and can't begin or end with a space",
});

const include = ["users", "organization-memberships"] as const;
const membersExample = { data: [{ type: "users", id: "ada" }] };
const membershipsExample = { data: [{ type: "organization-memberships", id: "ou-1234567890abcdef" }] };
const expiryNote =
  ". The `meta` of each has `expires-at` and `reason` if the person is a member for a limited time or for a stated reason.";
const expiryExample = { "expires-at": "2099-12-31T18:00:00Z", reason: "on call over the holidays" };
const membersNeeds =
  "an owner, a team with 'manage-membership', or the organization's token; for the owners team, owners only";

export const teams = defineResource<TeamView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "teams",
  doc: "A group of users that access is granted to.",
  id: (team) => team.id,
  version: ({ version, organizationFactsVersion, endedMemberships }) => [
    version,
    organizationFactsVersion,
    ...(endedMemberships ? [endedMemberships] : []),
  ],
  attributes: {
    name: required(name, "The team's name, unique in the organization, ignoring case.", { folded: true }),
    description: optional(text({ max: 1024 }).nullable(), "What the team is for.", { default: null }),
    visibility: optional(
      oneOf(["secret", "organization"]),
      "Who can see the team: only its members (`secret`), or the whole organization (`organization`).",
      { default: "secret" },
    ),
    "organization-access": optional(
      flags(organizationPermissionNames),
      "The team's permissions in the whole organization. Permissions that are left out keep their value.",
      {
        from: (team) => organizationAccessOf(team.organizationAccess),
        // A bit mask: `rules.ts` merges it with the stored one.
        column: false,
      },
    ),
    "sso-team-id": optional(
      text({ max: 255 }).nullable(),
      "The SSO group whose members are in this team, exactly as it appears in the provider's groups claim. Setting it requires the permission to add members to the team.",
      {
        default: null,
      },
    ),
    "allow-member-token-management": optional(flag(), "Whether members can manage the team's tokens.", {
      default: true,
    }),
    "users-count": readOnly(wholeNumber(), "The number of users in the team.", {
      from: ({ usersCount, endedMemberships = 0 }) => usersCount - endedMemberships,
      audited: false,
    }),
    "is-unified": readOnly(flag(), "Always false.", { from: () => false, audited: false }),
    permissions: readOnly(
      flags([
        "can-update",
        "can-destroy",
        "can-update-membership",
        "can-update-organization-access",
        "can-update-api-token",
      ]),
      "What the caller can do.",
      {
        from: (team) => {
          const { "can-read": _, ...shown } = teamPermissions(team.standing, team);
          return shown;
        },
        audited: false,
      },
    ),
    "created-at": readOnly(timestamp(), "When the team was created."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (team) => team.organizationName,
      related: (team) => `/api/v2/organizations/${team.organizationName}`,
    }),
    users: toMany("users", `The members; listed only with \`include=users\`${expiryNote}`, {
      ids: (team) => team.userIds,
      meta: ({ expiries }, id) => shownExpiry(expiries?.get(id)),
      metaSent: expiryMeta,
    }),
    "organization-memberships": toMany(
      "organization-memberships",
      `The members' organization memberships; listed only with \`include=organization-memberships\`${expiryNote}`,
      {
        ids: (team) => team.membershipIds,
        meta: ({ expiries }, id) => shownExpiry(expiries?.get(id)),
        metaSent: expiryMeta,
      },
    ),
    "authentication-token": toOne("authentication-tokens", "The team's token.", {
      related: (team) => `/api/v2/teams/${team.id}/authentication-token`,
    }),
  },
  links: (team) => ({ self: `/api/v2/teams/${team.id}` }),
  operations: {
    createTeam: {
      method: "POST",
      path: "/organizations/:organization_name/teams",
      summary: "Create a team",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; setting organization access also needs 'manage-organization-access', and can't exceed the caller's own access",
      body: "create",
      answer: "created",
      mayWarn: true,
      example: {
        data: {
          type: "teams",
          attributes: { name: "network", visibility: "organization", "organization-access": { "read-projects": true } },
        },
      },
    },
    listTeams: {
      method: "GET",
      path: "/organizations/:organization_name/teams",
      summary: "List teams",
      needs: "a member of the organization; secret teams are listed only for callers who can see them",
      query: {
        paged: true,
        include,
        parameters: {
          q: searchParameter("the name"),
          "filter[names]": listParameter("Exact team names, comma-separated, ignoring case."),
        },
      },
      answer: "list",
    },
    showTeam: {
      method: "GET",
      path: "/teams/:team_id",
      summary: "Show a team",
      needs:
        "a member of the organization; for a secret team, its members, owners, and teams with 'access-secret-teams'",
      query: { include },
      answer: "document",
    },
    updateTeam: {
      method: "PATCH",
      path: "/teams/:team_id",
      summary: "Update a team",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; changing organization access also needs 'manage-organization-access', and can't exceed the caller's own access",
      body: "update",
      answer: "document",
      mayWarn: true,
      example: { data: { type: "teams", attributes: { visibility: "secret" } } },
    },
    deleteTeam: {
      method: "DELETE",
      path: "/teams/:team_id",
      summary: "Delete a team, its tokens and its access",
      needs: "an owner, a team with 'manage-teams', or the organization's token; the owners team can't be deleted",
      answer: "nothing",
    },
    addTeamUsers: {
      method: "POST",
      path: "/teams/:team_id/relationships/users",
      summary: "Add users to a team by username, optionally with an expiry, or change the expiry of current members",
      needs: membersNeeds,
      body: { linkage: ["users"], meta: expiryMeta },
      answer: "nothing",
      mayWarn: true,
      example: { data: [{ ...membersExample.data[0], meta: expiryExample }] },
    },
    removeTeamUsers: {
      method: "DELETE",
      path: "/teams/:team_id/relationships/users",
      summary: "Remove users from a team by username",
      needs: membersNeeds,
      body: { linkage: ["users"] },
      answer: "nothing",
      mayWarn: true,
      example: membersExample,
    },
    listTeamMemberships: {
      method: "GET",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary: "List the organization memberships of a team's members",
      needs: "anyone who can see the team",
      query: { paged: true },
      answer: "list",
      answerType: "organization-memberships",
    },
    addTeamMemberships: {
      method: "POST",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary:
        "Add members or invited people to a team by organization membership, optionally with an expiry, or change their expiry",
      needs: membersNeeds,
      body: { linkage: ["organization-memberships"], meta: expiryMeta },
      answer: "nothing",
      mayWarn: true,
      example: membershipsExample,
    },
    removeTeamMemberships: {
      method: "DELETE",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary: "Remove people from a team by organization membership",
      needs: membersNeeds,
      body: { linkage: ["organization-memberships"] },
      answer: "nothing",
      mayWarn: true,
      example: membershipsExample,
    },
  },
}));
