/** Operations on teams. */
import type { Tx } from "../../../database/database.ts";
import type { Identifier, Included } from "../../../jsonapi/define.ts";
import { refuseIfAny } from "../../../kernel/errors.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvents } from "../../shared/audit-events/writes.ts";
import { endLinksOfOthers } from "../invitations/writes.ts";
import { listMembershipsInTeam } from "../organization-memberships/reads.ts";
import { raiseMemberships, raiseMembershipsInTeam } from "../organization-memberships/writes.ts";
import { factsOf } from "../organizations/definition.ts";
import { grantOrganization, loadOrganization } from "../organizations/reads.ts";
import { accessOfTeam } from "../../shared/grants/ending.ts";
import { loadIncluded } from "../../shared/includes.ts";
import { forEver } from "../../shared/grants/in-force.ts";
import { standingThrough } from "../../shared/grants/reads.ts";
import { updateOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { teams, type TeamView } from "./definition.ts";
import { grantTeam, loadTeam, refuseExceeding, refuseLastOwner } from "./reads.ts";
import { changedTeam, nameTaken, newTeam, ownersFaults, refuseGrantingLonger, refuseGrantingMore } from "./rules.ts";
import {
  givenAnEnd,
  type MemberItem,
  type MemberKind,
  membersEvent,
  seatingEvents,
  seatingOf,
  unknownFaults,
} from "./seating.ts";
import {
  changeUsersCount,
  deleteMembers,
  deleteTeamRow,
  findMembers,
  seatMembers,
  insertTeam,
  isTeamNameTaken,
  listTeamRows,
  type Member,
  membersOf,
  updateTeamRow,
} from "./store.ts";

export const teamResource = implement(teams, {
  async createTeam({ context, params, body }) {
    return context.database.write(async (tx) => {
      const organization = grantOrganization(
        await loadOrganization(tx, context, params.organizationName),
        "can-create-team",
      );
      const row = newTeam(body.attributes, organization.id);
      const view = { ...row, ...factsOf(organization), standing: organization.standing, includesActor: 0 };
      if (row.organizationAccess !== 0) {
        grantTeam({ ...view, visibility: "organization" }, "can-update-organization-access");
        await refuseGranting(tx, context, view, 0, row.organizationAccess);
      }
      if (row.ssoTeamId !== null) grantTeam({ ...view, visibility: "organization" }, "can-update-membership");
      refuseIfAny((await isTeamNameTaken(tx, organization.id, row.name)) ? [nameTaken()] : []);
      await insertTeam(tx, organization, row);
      await recordChange(tx, context, teams, { after: view });
      return { view };
    });
  },

  async listTeams({ context, params, query }) {
    const tx = context.database.reader;
    const organization = await loadOrganization(tx, context, params.organizationName);
    const { views, totalCount } = await listTeamRows(tx, context.actor, organization, {
      page: query.page,
      part: query.q,
      names: query.filterNames,
    });
    return { ...(await withMembers(tx, context, views, query.include)), totalCount };
  },

  async showTeam({ context, params, query }) {
    const tx = context.database.reader;
    const { views, included } = await withMembers(
      tx,
      context,
      [await loadTeam(tx, context, params.teamId)],
      query.include,
    );
    return { view: views[0] as TeamView, included };
  },

  async updateTeam({ context, params, body }) {
    return context.database.write(async (tx) => {
      const team = grantTeam(await loadTeam(tx, context, params.teamId, true), "can-update");
      context.ifMatch.check(team);
      const { changes, changed } = updateOf<TeamView>(team, changedTeam(body.attributes, team));
      if (changes === undefined) return { view: team };
      refuseIfAny(ownersFaults(team, changes));
      if (changes.organizationAccess !== undefined) {
        grantTeam(team, "can-update-organization-access");
        await refuseGranting(tx, context, team, team.organizationAccess, changed.organizationAccess);
      }
      if (changes.ssoTeamId != null) {
        // The mapping adds the group's users to the team, possibly including the caller.
        grantTeam(team, "can-update-membership");
        await refuseExceeding(tx, context, team.organizationId, [team]);
      }
      const isNameConflict =
        changed.nameKey !== team.nameKey && (await isTeamNameTaken(tx, team.organizationId, changed.name));
      refuseIfAny(isNameConflict ? [nameTaken()] : []);
      await updateTeamRow(tx, team, changes);
      await recordChange(tx, context, teams, { before: team, after: changed });
      return { view: changed };
    });
  },

  async deleteTeam({ context, params }) {
    return context.database.write(async (tx) => {
      const team = grantTeam(await loadTeam(tx, context, params.teamId, "alone"), "can-destroy");
      context.ifMatch.check(team);
      const revoked = await accessOfTeam(tx, team.id);
      await context.hooks.organizations.beforeTeamDelete(tx, team);
      await raiseMembershipsInTeam(tx, team);
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

/**
 * Refuses to grant permissions that the caller lacks, or has only for a limited time: a team's organization access has no expiry. Raises
 * `forbidden`.
 */
async function refuseGranting(
  tx: Tx,
  { actor }: Context,
  { standing, organizationId }: TeamView,
  before: number,
  after: number,
): Promise<void> {
  refuseGrantingMore(standing, before, after);
  if ((after & ~before) === 0) return;
  refuseGrantingLonger(await standingThrough(tx, actor, standing, organizationId, forEver), before, after);
}

const idsOf = (members: readonly Member[]) => members.map((member) => member.membershipId);

/** Skips current members unless their expiry changes. One unknown member refuses the whole request. */
async function addMembers(
  context: Context,
  teamId: string,
  by: MemberKind,
  body: readonly MemberItem[],
): Promise<void> {
  await context.database.write(async (tx) => {
    const team = grantTeam(await loadTeam(tx, context, teamId, "alone"), "can-update-membership");
    const found = await findMembers(
      tx,
      team,
      by,
      body.map((item) => item.id),
    );
    const seating = seatingOf(by, body, found);
    const { joining, changing, through } = seating;
    if (through !== undefined) await refuseExceeding(tx, context, team.organizationId, [team], through);
    refuseIfAny(unknownFaults(by, body, found));
    const seated = [...joining, ...changing.map(({ after }) => after)];
    if (seated.length === 0) return;
    const leaving = givenAnEnd(seating);
    if (team.isOwners === 1 && leaving.length > 0) await refuseLastOwner(tx, team.organizationId, leaving);
    await seatMembers(tx, team, seated, now());
    await raiseMemberships(tx, idsOf(seated));
    // An ended membership that was not cleaned up yet is still counted.
    const added = joining.filter((member) => member.userId !== null && member.hasEnded === 0);
    await changeUsersCount(tx, team, added.length);
    await recordEvents(tx, context, seatingEvents(team, found, seating));
    const invited = joining.filter((member) => member.userId === null);
    if (invited.length > 0) await endLinksOfOthers(tx, context, team, idsOf(invited));
  });
}

/** Skips people who are not in the team. One unknown member refuses the whole request; the last owner can't be removed. */
async function removeMembers(
  context: Context,
  teamId: string,
  by: MemberKind,
  body: readonly Identifier[],
): Promise<void> {
  await context.database.write(async (tx) => {
    const team = grantTeam(await loadTeam(tx, context, teamId, "alone"), "can-update-membership");
    const found = await findMembers(
      tx,
      team,
      by,
      body.map((item) => item.id),
    );
    refuseIfAny(unknownFaults(by, body, found));
    const leaving = found.filter((member) => member.isIn === 1);
    if (leaving.length === 0) return;
    if (team.isOwners === 1) await refuseLastOwner(tx, team.organizationId, idsOf(leaving));
    await deleteMembers(tx, team, leaving);
    await raiseMemberships(tx, idsOf(leaving));
    await changeUsersCount(tx, team, -leaving.filter((member) => member.userId !== null).length);
    await recordEvents(tx, context, [membersEvent(team, "remove-members", { before: leaving })]);
  });
}

/** Loads member ids and documents for `include`, in a constant number of statements. Anyone who can see a team can see its members. */
async function withMembers(
  tx: Tx,
  context: Context,
  views: readonly TeamView[],
  include: ReadonlySet<MemberKind>,
): Promise<{ views: TeamView[]; included?: Included[] | undefined }> {
  if (include.size === 0) return { views: [...views] };
  const members = await membersOf(
    tx,
    views.map((view) => view.id),
  );
  const membersIn = (team: TeamView) => members.filter((member) => member.teamId === team.id);
  const shown = views.map((view) => ({
    ...view,
    endings: new Map(
      membersIn(view).flatMap((member) => [member.userId ?? "", member.membershipId].map((id) => [id, member])),
    ),
    ...(include.has("users") && { userIds: membersIn(view).flatMap((member) => member.userId ?? []) }),
    ...(include.has("organization-memberships") && {
      membershipIds: membersIn(view).map((member) => member.membershipId),
    }),
  }));
  return { views: shown, included: await loadIncluded(tx, context, teams, shown, include) };
}
