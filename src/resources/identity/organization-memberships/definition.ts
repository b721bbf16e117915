/** A membership: a person's place in an organization, or an invitation that waits for the person. */
import type { OrganizationMembershipTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choice, listParameter, searchParameter } from "../../../jsonapi/query.ts";
import { oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { type Ending, endingMeta, shownEnding } from "../../shared/grants/ending.ts";
import { email, type OrganizationFacts } from "../organizations/definition.ts";
import { invitedUserId } from "../users/definition.ts";

export interface MembershipView extends OrganizationMembershipTable, OrganizationFacts {
  readonly username: string | null;
  /** The teams of the member that the caller may see. */
  readonly teamIds: readonly string[];
  /** Until when and why the member is in each of them, by its id. */
  readonly endings?: ReadonlyMap<string, Ending>;
  /** The link by which the person comes in: only in the answer to its creation. */
  readonly invitationUrl?: string;
  /** How many of the member's places in teams have ended and wait to be tidied up. */
  readonly endedPlaces?: number;
}

const membershipStatuses = ["active", "invited"] as const;

const include = ["user", "teams"] as const;

export const organizationMemberships = defineResource<MembershipView>()(({ once, readOnly, toOne, toMany }) => ({
  type: "organization-memberships",
  doc: "A person's place in an organization; an invitation while nobody has the address.",
  id: (membership) => membership.id,
  version: ({ version, organizationFacts, endedPlaces }) => [
    version,
    organizationFacts,
    ...(endedPlaces ? [endedPlaces] : []),
  ],
  attributes: {
    email: once(email, "The member's address.", { folded: true }),
    status: readOnly(
      oneOf(membershipStatuses),
      "`active`, or `invited` until a user with this address exists, or somebody accepts by the link.",
    ),
    "invitation-url": readOnly(
      text(),
      "The link by which whoever is invited comes in: in the answer to the creation, or to the renewal, and never again.",
      { audited: false },
    ),
    "created-at": readOnly(timestamp(), "When it was made."),
  },
  relationships: {
    organization: toOne("organizations", "The organization.", {
      id: (membership) => membership.organizationName,
      related: (membership) => `/api/v2/organizations/${membership.organizationName}`,
    }),
    user: toOne("users", "The member; while invited, a place holder that the registered user takes.", {
      id: (membership) => membership.userId ?? invitedUserId(membership.id),
      related: (membership) => (membership.userId === null ? undefined : `/api/v2/users/${membership.userId}`),
    }),
    teams: toMany(
      "teams",
      "The member's teams, those that the caller may see. In the `meta` of each, `expires-at` and `reason`: until when the member is in it, where that is not for ever, and why.",
      {
        create: "optional",
        metaSent: endingMeta,
        ids: (membership) => membership.teamIds,
        meta: ({ endings }, id) => shownEnding(endings?.get(id)),
      },
    ),
  },
  links: (membership) => ({ self: `/api/v2/organization-memberships/${membership.id}` }),
  operations: {
    createOrganizationMembership: {
      method: "POST",
      path: "/organizations/:organization_name/organization-memberships",
      summary: "Make a person a member, or invite one",
      needs:
        "an owner, a team with 'manage-membership', or the organization's token; teams that hold more than the caller are refused",
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "organization-memberships",
          attributes: { email: "grace@acme.example" },
          relationships: { teams: { data: [] } },
        },
      },
    },
    listOrganizationMemberships: {
      method: "GET",
      path: "/organizations/:organization_name/organization-memberships",
      summary: "List an organization's memberships",
      needs: "a member, or a token of the organization or of one of its teams",
      query: {
        paged: true,
        include,
        parameters: {
          q: searchParameter("the member's name or email address"),
          "filter[email]": listParameter("Whole addresses, comma-separated, ignoring case."),
          "filter[status]": choice(membershipStatuses, "Only memberships with this status."),
        },
      },
      answer: "list",
    },
    listMyOrganizationMemberships: {
      method: "GET",
      path: "/organization-memberships",
      summary: "List the caller's own memberships",
      needs: "a user's token",
      query: { paged: true },
      answer: "list",
    },
    showOrganizationMembership: {
      method: "GET",
      path: "/organization-memberships/:membership_id",
      summary: "Show a membership",
      needs: "a member, or a token of the organization or of one of its teams",
      query: { include },
      answer: "document",
    },
    renewInvitation: {
      method: "POST",
      path: "/organization-memberships/:membership_id/actions/renew-invitation",
      summary: "Make a new link for somebody who is invited; the one before stops working",
      needs:
        "an owner, a team with 'manage-membership', or the organization's token; where the invitation is to teams that hold more than the caller, it is refused",
      answer: "document",
    },
    deleteOrganizationMembership: {
      method: "DELETE",
      path: "/organization-memberships/:membership_id",
      summary: "Remove a member from the organization and all its teams",
      needs: "an owner, a team with 'manage-membership', the organization's token, or the member; the last owner stays",
      answer: "nothing",
    },
  },
}));
