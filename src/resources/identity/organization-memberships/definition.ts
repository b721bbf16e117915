/** The organization membership resource: a member, or an invitation that is not accepted yet. */
import type { OrganizationMembershipTable } from "../../../database/schema/identity.ts";
import { defineResource } from "../../../jsonapi/define.ts";
import { choiceParameter, listParameter, searchParameter } from "../../../jsonapi/query.ts";
import { oneOf, text, timestamp } from "../../../jsonapi/schemas.ts";
import { type GrantExpiry, expiryMeta, shownExpiry } from "../../shared/grants/expiry.ts";
import { email, type OrganizationFacts } from "../organizations/definition.ts";
import { invitedUserId } from "../users/definition.ts";

export interface MembershipView extends OrganizationMembershipTable, OrganizationFacts {
  /** Where changes of teams are checked against access rules. */
  readonly enabledRuleCount?: number;
  readonly username: string | null;
  readonly teamIds: readonly string[];
  readonly expiries?: ReadonlyMap<string, GrantExpiry>;
  readonly invitationUrl?: string;
  readonly endedMemberships?: number;
}

const membershipStatuses = ["active", "invited"] as const;

const include = ["user", "teams"] as const;

export const organizationMemberships = defineResource<MembershipView>()(
  ({ requiredFixed, readOnly, toOne, toMany }) => ({
    type: "organization-memberships",
    doc: "A user's membership of an organization, or an invitation that is not accepted yet.",
    id: (membership) => membership.id,
    version: ({ version, organizationFactsVersion, endedMemberships }) => [
      version,
      organizationFactsVersion,
      ...(endedMemberships ? [endedMemberships] : []),
    ],
    attributes: {
      email: requiredFixed(email, "The member's email address.", { folded: true }),
      status: readOnly(
        oneOf(membershipStatuses),
        "`active`, or `invited` until a user with this email address exists or somebody accepts the invitation.",
      ),
      "invitation-url": readOnly(
        text(),
        "The invitation link. It is shown only in the response that creates or renews the invitation.",
        { audited: false },
      ),
      "created-at": readOnly(timestamp(), "When the membership was created."),
    },
    relationships: {
      organization: toOne("organizations", "The organization.", {
        id: (membership) => membership.organizationName,
        related: (membership) => `/api/v2/organizations/${membership.organizationName}`,
      }),
      user: toOne("users", "The member, or a placeholder while the person is only invited.", {
        id: (membership) => membership.userId ?? invitedUserId(membership.id),
        related: (membership) => (membership.userId === null ? undefined : `/api/v2/users/${membership.userId}`),
      }),
      teams: toMany(
        "teams",
        "The member's teams that the caller can see. The `meta` of each has `expires-at` and `reason` if the person is a member for a limited time or for a stated reason.",
        {
          create: "optional",
          metaSent: expiryMeta,
          ids: (membership) => membership.teamIds,
          meta: ({ expiries }, id) => shownExpiry(expiries?.get(id)),
        },
      ),
    },
    links: (membership) => ({ self: `/api/v2/organization-memberships/${membership.id}` }),
    operations: {
      createOrganizationMembership: {
        method: "POST",
        path: "/organizations/:organization_name/organization-memberships",
        summary: "Add a user to an organization, or invite a person",
        needs:
          "an owner, a team with 'manage-membership', or the organization's token; teams with more access than the caller are rejected",
        body: "create",
        answer: "created",
        mayWarn: true,
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
            "filter[email]": listParameter("Exact email addresses, comma-separated, ignoring case."),
            "filter[status]": choiceParameter(membershipStatuses, "Only memberships with this status."),
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
        summary: "Create a new link for an invitation; the previous link stops working",
        needs:
          "an owner, a team with 'manage-membership', or the organization's token; the request is rejected if the invitation's teams have more access than the caller",
        answer: "document",
      },
      deleteOrganizationMembership: {
        method: "DELETE",
        path: "/organization-memberships/:membership_id",
        summary: "Remove a member from the organization and all its teams",
        needs:
          "an owner, a team with 'manage-membership', the organization's token, or the member; the last owner can't be removed",
        answer: "nothing",
      },
    },
  }),
);
