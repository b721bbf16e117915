/** Operations on teams. */
import type { Tx } from "../../../database/database.ts";
import type { ResourceIdentifier, IncludedResource } from "../../../jsonapi/define.ts";
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvents } from "../../shared/audit-events/writes.ts";
import { revokeInvitationsByOthers } from "../invitations/writes.ts";
import { listMembershipsInTeam } from "../organization-memberships/reads.ts";
import { incrementMembershipVersions, incrementMembershipVersionsInTeam } from "../organization-memberships/writes.ts";
import { ruledFactsOf } from "../organizations/definition.ts";
import { authorizeOrganization, loadOrganization } from "../organizations/reads.ts";
import { teamAccessForAudit } from "../../shared/grants/expiry.ts";
import { changesWithin, loadIncluded } from "../../shared/includes.ts";
import { originOf } from "../../shared/grants/origin.ts";
import { neverExpires } from "../../shared/grants/in-force.ts";
import { standingUntil } from "../../shared/grants/reads.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { teams, type TeamView } from "./definition.ts";
import { teamUpdateChange, seatChange } from "./ruled-changes.ts";
import { authorizeTeam, loadTeam, refuseExceedingOwnAccess, refuseLastOwner } from "./reads.ts";
import { teamChangesOf, nameTaken, newTeam, ownersFaults, refuseGrantingLonger, refuseGrantingMore } from "./rules.ts";
import {
  membersGivenExpiry,
  type MemberItem,
  type MemberKind,
  membersEvent,
  teamMemberEvents,
  planTeamMembers,
  unknownMemberFaults,
  givenSeats,
} from "./member-plan.ts";
import {
  changeUsersCount,
  deleteMembers,
  deleteTeamRow,
  findMembers,
  upsertMembers,
  insertTeam,
  isTeamNameTaken,
  listTeamRows,
  type TeamMemberRow,
  membersOf,
  updateTeamRow,
} from "./store.ts";

export const teamResource = implement(teams, {
  async createTeam({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = authorizeOrganization(
        await loadOrganization(tx, context, params.organizationName, "organization-only"),
        "can-create-team",
      );
      const row = newTeam(body.attributes, organization.id);
      const view = { ...row, ...ruledFactsOf(organization), standing: organization.standing, includesActor: 0 };
      if (row.organizationAccess !== 0) {
        authorizeTeam({ ...view, visibility: "organization" }, "can-update-organization-access");
        await refuseGrantingBeyondOwnAccess(tx, context, view, 0, row.organizationAccess);
      }
      if (row.ssoTeamId !== null) authorizeTeam({ ...view, visibility: "organization" }, "can-update-membership");
      throwIfInvalid((await isTeamNameTaken(tx, organization.id, row.name)) ? [nameTaken()] : []);
      await insertTeam(tx, organization, row);
      // After the insert, because rules can name the team's attributes.
      if (row.organizationAccess !== 0)
        await context.hooks.accessRules.enforceRules(tx, context, view, [teamUpdateChange(view, 0)]);
      await recordChange(tx, context, teams, { after: view });
      return { view };
    });
  },

  async listTeams({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, totalCount } = await listTeamRows(tx, context.actor, organization, {
      page: query.page,
      searchText: query.q,
      names: query.filterNames,
    });
    const changesWith = changesWithin(organization.id, query.include);
    return { ...(await loadMembers(tx, context, views, query.include)), totalCount, changesWith };
  },

  async showTeam({ context, params, query }) {
    const tx = context.database.reader;
    const { views, included } = await loadMembers(
      tx,
      context,
      [await loadTeam(tx, context, params.teamId)],
      query.include,
    );
    const view = views[0] as TeamView;
    return { view, included, changesWith: changesWithin(view.organizationId, query.include) };
  },

  async updateTeam({ context, params, body }) {
    return context.database.write(async (tx) => {
      const team = authorizeTeam(await loadTeam(tx, context, params.teamId, "change"), "can-update");
      context.ifMatch.check(team);
      const { changes, changed } = updateOf<TeamView>(team, teamChangesOf(body.attributes, team));
      if (changes === undefined) return { view: team };
      throwIfInvalid(ownersFaults(team, changes));
      if (changes.organizationAccess !== undefined) {
        authorizeTeam(team, "can-update-organization-access");
        await refuseGrantingBeyondOwnAccess(tx, context, team, team.organizationAccess, changed.organizationAccess);
      }
      if (changes.ssoTeamId != null) {
        // The mapping adds the group's users to the team, possibly including the caller.
        authorizeTeam(team, "can-update-membership");
        await refuseExceedingOwnAccess(tx, context, team.organizationId, [team]);
      }
      const isNameConflict =
        changed.nameKey !== team.nameKey && (await isTeamNameTaken(tx, team.organizationId, changed.name));
      throwIfInvalid(isNameConflict ? [nameTaken()] : []);
      if (Object.keys(changes).some((column) => !["name", "nameKey", "description"].includes(column))) {
        const change = teamUpdateChange(changed, team.organizationAccess);
        await context.hooks.accessRules.enforceRules(tx, context, team, [change]);
      }
      await updateTeamRow(tx, team, changes);
      await recordChange(tx, context, teams, { before: team, after: changed });
      return { view: changed };
    });
  },

  async deleteTeam({ context, params }) {
    return context.database.write(async (tx) => {
      const team = authorizeTeam(await loadTeam(tx, context, params.teamId, "exclusive"), "can-destroy");
      context.ifMatch.check(team);
      const revoked = await teamAccessForAudit(tx, team.id);
      await context.hooks.organizations.decrementTeamCounters(tx, team);
      await incrementMembershipVersionsInTeam(tx, team);
      await deleteTeamRow(tx, team);
      await recordChange(tx, context, teams, { before: team }, { before: revoked });
    });
  },

  async listTeamMemberships({ context, params, query }) {
    const tx = context.database.reader;
    const team = await loadTeam(tx, context, params.teamId);
    return listMembershipsInTeam(tx, context.actor, team, query.page);
  },

  addTeamUsers: ({ context, params, body }) => addMembers(context, params.teamId, "users", body),
  addTeamMemberships: ({ context, params, body }) =>
    addMembers(context, params.teamId, "organization-memberships", body),
  removeTeamUsers: ({ context, params, body }) => removeMembers(context, params.teamId, "users", body),
  removeTeamMemberships: ({ context, params, body }) =>
    removeMembers(context, params.teamId, "organization-memberships", body),
});

/** Throws `forbidden` if the caller lacks the permissions or has them for a limited time, because a team's access has no expiry. */
async function refuseGrantingBeyondOwnAccess(
  tx: Tx,
  { actor }: Context,
  { standing, organizationId }: TeamView,
  before: number,
  after: number,
): Promise<void> {
  refuseGrantingMore(standing, before, after);
  if ((after & ~before) === 0) return;
  refuseGrantingLonger(await standingUntil(tx, actor, standing, organizationId, neverExpires), before, after);
}

const membershipIdsOf = (members: readonly TeamMemberRow[]) => members.map((member) => member.membershipId);

/** One unknown member refuses the whole request. */
async function addMembers(
  context: Context,
  teamId: string,
  by: MemberKind,
  body: readonly MemberItem[],
): Promise<void> {
  await context.database.write(async (tx) => {
    const team = authorizeTeam(await loadTeam(tx, context, teamId, "exclusive"), "can-update-membership");
    const found = await findMembers(
      tx,
      team,
      by,
      body.map((item) => item.id),
    );
    const memberPlan = planTeamMembers(by, body, found);
    const { joining, changing, latestEnd } = memberPlan;
    if (latestEnd !== undefined) await refuseExceedingOwnAccess(tx, context, team.organizationId, [team], latestEnd);
    throwIfInvalid(unknownMemberFaults(by, body, found));
    const changedMembers = [...joining, ...changing.map(({ after }) => after)];
    if (changedMembers.length === 0) return;
    const leaving = membersGivenExpiry(memberPlan);
    if (team.isOwners === 1 && leaving.length > 0) await refuseLastOwner(tx, team.organizationId, leaving);
    await context.hooks.accessRules.enforceRules(tx, context, team, givenSeats(team.id, memberPlan));
    await upsertMembers(tx, team, changedMembers, originOf(context), now());
    await incrementMembershipVersions(tx, membershipIdsOf(changedMembers));
    // An ended membership is counted until the cleanup job removes it.
    const added = joining.filter((member) => member.userId !== null && member.hasEnded === 0);
    await changeUsersCount(tx, team, added.length);
    await recordEvents(tx, context, teamMemberEvents(team, found, memberPlan));
    const invited = joining.filter((member) => member.userId === null);
    if (invited.length > 0) await revokeInvitationsByOthers(tx, context, team, membershipIdsOf(invited));
  });
}

async function removeMembers(
  context: Context,
  teamId: string,
  by: MemberKind,
  body: readonly ResourceIdentifier[],
): Promise<void> {
  await context.database.write(async (tx) => {
    const team = authorizeTeam(await loadTeam(tx, context, teamId, "exclusive"), "can-update-membership");
    const found = await findMembers(
      tx,
      team,
      by,
      body.map((item) => item.id),
    );
    throwIfInvalid(unknownMemberFaults(by, body, found));
    const leaving = found.filter((member) => member.isMember === 1);
    if (leaving.length === 0) return;
    if (team.isOwners === 1) await refuseLastOwner(tx, team.organizationId, membershipIdsOf(leaving));
    const removals = leaving.map((member) => seatChange("removeMember", team.id, member));
    await context.hooks.accessRules.enforceRules(tx, context, team, removals);
    await deleteMembers(tx, team, leaving);
    await incrementMembershipVersions(tx, membershipIdsOf(leaving));
    await changeUsersCount(tx, team, -leaving.filter((member) => member.userId !== null).length);
    await recordEvents(tx, context, [membersEvent(team, "remove-members", { before: leaving })]);
  });
}

/** Callers who can see a team can see its members. */
async function loadMembers(
  tx: Tx,
  context: Context,
  views: readonly TeamView[],
  include: ReadonlySet<MemberKind>,
): Promise<{ views: TeamView[]; included?: IncludedResource[] | undefined }> {
  if (include.size === 0) return { views: [...views] };
  const members = await membersOf(
    tx,
    views.map((view) => view.id),
  );
  const membersIn = (team: TeamView) => members.filter((member) => member.teamId === team.id);
  const shown = views.map((view) => ({
    ...view,
    expiries: new Map(
      membersIn(view).flatMap((member) => [member.userId ?? "", member.membershipId].map((id) => [id, member])),
    ),
    ...(include.has("users") && { userIds: membersIn(view).flatMap((member) => member.userId ?? []) }),
    ...(include.has("organization-memberships") && {
      membershipIds: membersIn(view).map((member) => member.membershipId),
    }),
  }));
  return { views: shown, included: await loadIncluded(tx, context, teams, shown, include) };
}
