/** A team: what access is given to. */
import { organizationAccessOf, organizationPermissionNames, type Standing } from "../../../access/organization.ts";
import { teamPermissions } from "../../../access/permissions/organization.ts";
import type { TeamTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { listParameter, searchParameter } from "../../../jsonapi/query.ts";
import { flag, flags, oneOf, text, timestamp, wholeNumber } from "../../../jsonapi/schemas.ts";
import { type Ending, endingMeta, shownEnding } from "../../shared/grants/ending.ts";
import type { OrganizationFacts } from "../organizations/definition.ts";

export interface TeamView extends TeamTable, OrganizationFacts {
  readonly standing: Standing;
  /** 1 when the caller is in the team, or is the team. */
  readonly includesActor: number;
  /** How many people's places in it have ended and are still counted, until they are tidied up. */
  readonly endedPlaces?: number;
  /** Only where they were asked for. */
  readonly userIds?: readonly string[];
  readonly membershipIds?: readonly string[];
  /** Until when and why each of them is in it, by the user's and by the membership's id. */
  readonly endings?: ReadonlyMap<string, Ending>;
}

const name = text({
  min: 1,
  max: 90,
  pattern: /^(?! )[A-Za-z0-9 _/-]+(?<! )$/,
  sentence:
    "may only contain letters, numbers, spaces, slashes, dashes and underscores, and neither begin nor end with a space",
});

const include = ["users", "organization-memberships"] as const;
const membersExample = { data: [{ type: "users", id: "ada" }] };
const membershipsExample = { data: [{ type: "organization-memberships", id: "ou-1234567890abcdef" }] };
const andTheirEnd =
  ". In the `meta` of each, `expires-at` and `reason`: until when the person is in the team, where that is not for ever, and why.";
const untilExample = { "expires-at": "2099-12-31T18:00:00Z", reason: "on call over the holidays" };
const membersNeed =
  "an owner, a team with 'manage-membership', or the organization's token; for the owners team, owners alone";

export const teams = defineResource<TeamView>()(({ required, optional, readOnly, toOne, toMany }) => ({
  type: "teams",
  doc: "A group of people to which access is given.",
  id: (team) => team.id,
  version: ({ version, organizationFacts, endedPlaces }) => [
    version,
    organizationFacts,
    ...(endedPlaces ? [endedPlaces] : []),
  ],
  attributes: {
    name: required(name, "Unique in the organization, ignoring case.", { folded: true }),
    description: optional(text({ max: 1024 }).nullable(), "What the team is for.", { default: null }),
    visibility: optional(
      oneOf(["secret", "organization"]),
      "Who may know of the team: its members alone, or the whole organization.",
      { default: "secret" },
    ),
    "organization-access": optional(
      flags(organizationPermissionNames),
      "What the team may do in the whole organization; what is left out keeps its value.",
      {
        from: (team) => organizationAccessOf(team.organizationAccess),
        // A mask: `rules.ts` keeps what is left out.
        column: false,
      },
    ),
    "sso-team-id": optional(
      text({ max: 255 }).nullable(),
      "The group at a provider of single sign-on whose people are in the team, as the provider's groups claim says it. Setting one needs what putting somebody into the team needs.",
      {
        default: null,
      },
    ),
    "allow-member-token-management": optional(flag(), "Whether members manage the team's tokens.", { default: true }),
    "users-count": readOnly(wholeNumber(), "How many people are in it.", {
      from: ({ usersCount, endedPlaces = 0 }) => usersCount - endedPlaces,
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
      "What the caller may do.",
      {
        from: (team) => {
          const { "can-read": _, ...shown } = teamPermissions(team.standing, team);
          return shown;
        },
        audited: false,
      },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (team) => team.organizationName,
      related: (team) => `/api/v2/organizations/${team.organizationName}`,
    }),
    users: toMany("users", `The members; named where \`include=users\` asks for them${andTheirEnd}`, {
      ids: (team) => team.userIds,
      meta: ({ endings }, id) => shownEnding(endings?.get(id)),
      metaSent: endingMeta,
    }),
    "organization-memberships": toMany(
      "organization-memberships",
      `The members' memberships; named where \`include\` asks for them${andTheirEnd}`,
      {
        ids: (team) => team.membershipIds,
        meta: ({ endings }, id) => shownEnding(endings?.get(id)),
        metaSent: endingMeta,
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
        "an owner, a team with 'manage-teams', or the organization's token; organization access also needs 'manage-organization-access' and at most what the caller holds",
      body: "create",
      answer: "created",
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
      needs: "a member; shows visible teams, and secret ones to those who may know of them",
      query: {
        paged: true,
        include,
        parameters: {
          q: searchParameter("the name"),
          "filter[names]": listParameter("Whole names, comma-separated, ignoring case."),
        },
      },
      answer: "list",
    },
    showTeam: {
      method: "GET",
      path: "/teams/:team_id",
      summary: "Show a team",
      needs: "a member of the organization; a secret team's own members, owners, and teams with 'access-secret-teams'",
      query: { include },
      answer: "document",
    },
    updateTeam: {
      method: "PATCH",
      path: "/teams/:team_id",
      summary: "Change a team",
      needs:
        "an owner, a team with 'manage-teams', or the organization's token; organization access also needs 'manage-organization-access' and at most what the caller holds",
      body: "update",
      answer: "document",
      example: { data: { type: "teams", attributes: { visibility: "secret" } } },
    },
    deleteTeam: {
      method: "DELETE",
      path: "/teams/:team_id",
      summary: "Delete a team with its tokens and its access",
      needs: "an owner, a team with 'manage-teams', or the organization's token; nobody deletes the owners team",
      answer: "nothing",
    },
    addTeamUsers: {
      method: "POST",
      path: "/teams/:team_id/relationships/users",
      summary: "Add people to a team, by name, for ever or until a moment; or say anew until when",
      needs: membersNeed,
      body: { linkage: ["users"], meta: endingMeta },
      answer: "nothing",
      example: { data: [{ ...membersExample.data[0], meta: untilExample }] },
    },
    removeTeamUsers: {
      method: "DELETE",
      path: "/teams/:team_id/relationships/users",
      summary: "Remove people from a team, by name",
      needs: membersNeed,
      body: { linkage: ["users"] },
      answer: "nothing",
      example: membersExample,
    },
    listTeamMemberships: {
      method: "GET",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary: "List the memberships of the people in a team",
      needs: "whoever may see the team",
      query: { paged: true },
      answer: "list",
      answers: "organization-memberships",
    },
    addTeamMemberships: {
      method: "POST",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary: "Add people to a team, by membership, also people who are only invited; or say anew until when",
      needs: membersNeed,
      body: { linkage: ["organization-memberships"], meta: endingMeta },
      answer: "nothing",
      example: membershipsExample,
    },
    removeTeamMemberships: {
      method: "DELETE",
      path: "/teams/:team_id/relationships/organization-memberships",
      summary: "Remove people from a team, by membership",
      needs: membersNeed,
      body: { linkage: ["organization-memberships"] },
      answer: "nothing",
      example: membershipsExample,
    },
  },
}));
