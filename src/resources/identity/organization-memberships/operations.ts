/** Operations on organization memberships. */
import { authorize } from "../../../access/granted.ts";
import { organizationPermissions } from "../../../access/permissions/organization.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationMembershipTable } from "../../../database/schema/identity.ts";
import type { IncludedResource } from "../../../jsonapi/define.ts";
import {
  attributeFault,
  conflict,
  forbidden,
  notFound,
  throwIfInvalid,
  relationshipFault,
} from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { factsOf } from "../organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../organizations/reads.ts";
import { mergeExpiry, noExpiry } from "../../shared/grants/expiry.ts";
import { type Context, implement } from "../../shared/context.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import type { InvitationTarget } from "../invitations/rules.ts";
import { originOf } from "../../shared/grants/origin.ts";
import { createInvitation } from "../invitations/writes.ts";
import { teams } from "../teams/definition.ts";
import { seatChange } from "../teams/ruled-changes.ts";
import { loadTeamsForNewMember, refuseLastOwner, teamsByIds } from "../teams/reads.ts";
import { decrementCountsForMembership, joinTeams } from "../teams/writes.ts";
import { users } from "../users/definition.ts";
import { usersByIds } from "../users/reads.ts";
import { invitedUserView, toUserView } from "../users/rules.ts";
import { type MembershipView, organizationMemberships } from "./definition.ts";
import { managedFaults, immediateMember, newMembership } from "./rules.ts";
import {
  deleteMembershipRow,
  findMembership,
  insertMembership,
  listMembershipRows,
  listOwnMembershipRows,
  lookUpAddress,
} from "./store.ts";
import { recordMembership } from "./writes.ts";

export const organizationMembershipResource = implement(organizationMemberships, {
  async createOrganizationMembership({ context, params, body }) {
    return context.database.write(async (tx) => {
      // Serializes changes of team memberships.
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "change"),
        "can-manage-memberships",
      );
      const { email } = body.attributes;
      const expiries = new Map(
        (body.relationships.teams ?? []).map(({ id, meta }) => [id, mergeExpiry(noExpiry, meta ?? {})]),
      );
      const teamIds = [...expiries.keys()];
      const { found, unknown } = await loadTeamsForNewMember(tx, context, organization, expiries);
      const person = await lookUpAddress(tx, organization.id, fold(email));
      throwIfInvalid([
        ...(person.isTaken
          ? [
              attributeFault(
                "email",
                "Email has already been taken: this organization has a membership with this address",
              ),
            ]
          : []),
        ...managedFaults(person.user, organization.id),
        ...unknown.map((id) => relationshipFault("teams", `Team ${id} does not exist in this organization`)),
      ]);
      const user = immediateMember(context.actor, person);
      const row = newMembership(body.attributes, organization.id, user?.id ?? null);
      const { enabledRuleCount } = organization;
      await context.hooks.accessRules.enforceRules(
        tx,
        context,
        { organizationId: organization.id, enabledRuleCount },
        found.map(({ id }) => seatChange("addMember", id, { userId: row.userId, ...(expiries.get(id) ?? noExpiry) })),
      );
      await insertMembership(tx, organization, row);
      await joinTeams(tx, row, found, expiries, originOf(context));
      const { url } =
        row.status === "invited"
          ? await createInvitation(tx, context, organization, invitationTargetOf(row), { isFirst: true })
          : noInvitation;
      const view: MembershipView = {
        ...row,
        ...factsOf(organization),
        username: user?.username ?? null,
        teamIds: teamIds.toSorted(),
        expiries,
        ...(url !== undefined && { invitationUrl: url }),
      };
      await recordMembership(tx, context, { after: view });
      const shown = user === undefined ? invitedUserView(view) : toUserView(context.actor, user, context.options);
      return { view, included: [{ definition: users, view: shown }] };
    });
  },

  async listOrganizationMemberships({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, totalCount } = await listMembershipRows(tx, context.actor, organization, {
      page: query.page,
      searchText: query.q,
      emails: query.filterEmail,
      status: query.filterStatus,
    });
    return { views, totalCount, included: await loadIncludedResources(tx, context, views, query.include) };
  },

  async listMyOrganizationMemberships({ context, query }) {
    if (context.actor.kind !== "user")
      throw forbidden("Team tokens and organization tokens have no memberships. Use a user's token.");
    return listOwnMembershipRows(context.database.reader, context.actor, query.page);
  },

  async showOrganizationMembership({ context, params, query }) {
    const tx = context.database.reader;
    const found = await findMembership(tx, context.actor, params.membershipId);
    if (found === undefined || !found.standing.member) throw notFound("organization membership");
    return {
      view: found.membership,
      included: await loadIncludedResources(tx, context, [found.membership], query.include),
    };
  },

  async renewInvitation({ context, params }) {
    return context.database.write(async (tx) => {
      const found = await findMembership(tx, context.actor, params.membershipId, "exclusive");
      if (found === undefined) throw notFound("organization membership");
      const permission = "can-manage-memberships";
      const membership = authorize(found.membership, {
        thing: "organization membership",
        permission,
        visible: found.standing.member,
        allowed: organizationPermissions(found.standing)[permission],
        needs: "the organization permission 'manage-membership'",
      });
      if (membership.status !== "invited")
        throw conflict("This person is already a member and doesn't need an invitation link.");
      await refuseUngrantableInvitation(tx, context, found);
      const { url, expiresAt } = await createInvitation(tx, context, membership, invitationTargetOf(membership));
      await recordEvent(tx, context, {
        organizationId: membership.organizationId,
        verb: "renew-invitation",
        subject: { type: organizationMemberships.type, id: membership.id },
        after: { email: membership.email, "expires-at": expiresAt },
      });
      return { view: { ...membership, invitationUrl: url } };
    });
  },

  async deleteOrganizationMembership({ context, params }) {
    return context.database.write(async (tx) => {
      const found = await findMembership(tx, context.actor, params.membershipId, "exclusive");
      if (found === undefined) throw notFound("organization membership");
      const isSelf = context.actor.kind === "user" && found.membership.userId === context.actor.userId;
      const isManager =
        organizationPermissions(found.standing)["can-manage-memberships"] &&
        (!found.isOwner || found.standing.managesOwnersTeam);
      const membership = authorize(found.membership, {
        thing: "organization membership",
        permission: "can-destroy",
        visible: found.standing.member,
        allowed: isSelf || isManager,
        needs: "the organization permission 'manage-membership'; an owner's membership, ownership of the organization",
      });
      context.ifMatch.check(membership);
      if (found.isOwner) await refuseLastOwner(tx, membership.organizationId, [membership.id]);
      await decrementCountsForMembership(tx, membership);
      await deleteMembershipRow(tx, membership);
      await recordMembership(tx, context, { before: { ...membership, teamIds: found.allTeamIds } });
    });
  },
});

const noInvitation = { url: undefined };

const invitationTargetOf = ({ id, organizationId }: OrganizationMembershipTable): InvitationTarget => ({
  organizationId,
  membershipId: id,
  userId: null,
});

/** The link gives access to the invitation's teams, so it requires the permission to add members to them. Throws `forbidden`. */
async function refuseUngrantableInvitation(
  tx: Tx,
  context: Context,
  { membership, allTeamIds }: { readonly membership: MembershipView; readonly allTeamIds: readonly string[] },
): Promise<void> {
  const expiries = new Map(allTeamIds.map((id) => [id, membership.expiries?.get(id) ?? noExpiry]));
  const { unknown } = await loadTeamsForNewMember(tx, context, { id: membership.organizationId }, expiries);
  if (unknown.length > 0)
    throw forbidden(
      "The invitation gives access that you don't have, so you can't create a link for it. Ask an owner to renew it.",
    );
}

async function loadIncludedResources(
  tx: Tx,
  context: Context,
  views: readonly MembershipView[],
  include: ReadonlySet<"user" | "teams">,
): Promise<IncludedResource[]> {
  const found: IncludedResource[] = [];
  if (include.has("user")) {
    const ids = views.flatMap((view) => view.userId ?? []);
    for (const view of await usersByIds(tx, context, ids)) found.push({ definition: users, view });
    for (const view of views.filter(({ userId }) => userId === null))
      found.push({ definition: users, view: invitedUserView(view) });
  }
  if (include.has("teams")) {
    const ids = views.flatMap((view) => view.teamIds);
    for (const view of await teamsByIds(tx, context.actor, ids)) found.push({ definition: teams, view });
  }
  return found;
}
