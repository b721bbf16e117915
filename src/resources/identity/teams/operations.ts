/** Operations on teams: load → authorize → decide → write. */
import type { Tx } from "../../../database/database.ts";
import type { Identifier, Included } from "../../../jsonapi/define.ts";
import { type Fault, refuseIfAny } from "../../../kernel/errors.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import { recordChange, recordEvent } from "../../shared/audit-events/writes.ts";
import { listMembershipsInTeam, membershipsByIds } from "../organization-memberships/reads.ts";
import { raiseMemberships, raiseMembershipsInTeam } from "../organization-memberships/writes.ts";
import { organizationMemberships } from "../organization-memberships/definition.ts";
import { factsOf } from "../organizations/definition.ts";
import { grantOrganization, loadOrganization } from "../organizations/reads.ts";
import { changesOf } from "../../shared/changes.ts";
import { type Context, implement } from "../../shared/context.ts";
import { checkIfMatch } from "../../shared/preconditions.ts";
import { afterUpdate } from "../../shared/versions.ts";
import { looksLikeUserId, users } from "../users/definition.ts";
import { usersByIds } from "../users/reads.ts";
import { teams, type TeamView } from "./definition.ts";
import { grantTeam, loadTeam, refuseExceeding, refuseLastOwner } from "./reads.ts";
import { changedTeam, nameTaken, newTeam, ownersFaults, refuseGrantingMore } from "./rules.ts";
import {
  changeUsersCount,
  deleteMembers,
  deleteTeamRow,
  findMembers,
  insertMembers,
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
        refuseGrantingMore(view, 0, row.organizationAccess);
      }
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

  async updateTeam({ context, params, body, ifMatch }) {
    return context.database.write(async (tx) => {
      const team = grantTeam(await loadTeam(tx, context, params.teamId, true), "can-update");
      checkIfMatch(ifMatch, teams, team);
      const changes = changesOf<TeamView>(team, changedTeam(body.attributes, team));
      if (changes === undefined) return { view: team };
      refuseIfAny(ownersFaults(team, changes));
      const changed = afterUpdate<TeamView>(team, changes);
      if (changes.organizationAccess !== undefined) {
        grantTeam(team, "can-update-organization-access");
        refuseGrantingMore(team, team.organizationAccess, changed.organizationAccess);
      }
      const renamed =
        changed.nameKey !== team.nameKey && (await isTeamNameTaken(tx, team.organizationId, changed.name));
      refuseIfAny(renamed ? [nameTaken()] : []);
      await updateTeamRow(tx, team, changes);
      await recordChange(tx, context, teams, { before: team, after: changed });
      return { view: changed };
    });
  },

  async deleteTeam({ context, params, ifMatch }) {
    return context.database.write(async (tx) => {
      const team = grantTeam(await loadTeam(tx, context, params.teamId, "alone"), "can-destroy");
      checkIfMatch(ifMatch, teams, team);
      await context.neighbours.teamLeaves(tx, team.id);
      await raiseMembershipsInTeam(tx, team.id);
      await deleteTeamRow(tx, team);
      await recordChange(tx, context, teams, { before: team });
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

type MemberKind = "users" | "organization-memberships";

const idsOf = (members: readonly Member[]) => members.map((member) => member.membershipId);

/** Present members are skipped; an unknown one refuses the whole call. */
async function addMembers(
  context: Context,
  teamId: string,
  by: MemberKind,
  body: readonly Identifier[],
): Promise<void> {
  await context.database.write(async (tx) => {
    const team = grantTeam(await loadTeam(tx, context, teamId, "alone"), "can-update-membership");
    await refuseExceeding(tx, context, team.organizationId, [team]);
    const found = await findMembers(
      tx,
      team,
      by,
      body.map((item) => item.id),
    );
    refuseIfAny(unknownFaults(by, body, found));
    const joining = found.filter((member) => member.isIn === 0);
    if (joining.length === 0) return;
    await insertMembers(tx, team, joining, now());
    await raiseMemberships(tx, idsOf(joining));
    await changeUsersCount(tx, team, joining.filter((member) => member.userId !== null).length);
    await recordMembers(tx, context, team, { after: joining });
  });
}

/** Absent members are skipped; an unknown one refuses the whole call; the last owner stays. */
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
    await recordMembers(tx, context, team, { before: leaving });
  });
}

function unknownFaults(by: MemberKind, body: readonly Identifier[], found: readonly Member[]): Fault[] {
  const known = new Set(
    found.flatMap((member) => (by === "users" ? [member.userId, fold(member.username ?? "")] : [member.membershipId])),
  );
  const keyOf = (id: string) => (by === "users" && !looksLikeUserId(id) ? fold(id) : id);
  return body.flatMap((item, position) =>
    known.has(keyOf(item.id))
      ? []
      : [
          {
            pointer: `/data/${position}/id`,
            detail: `${by === "users" ? "User" : "Membership"} '${item.id}' is not a member of this organization; make it one first`,
          },
        ],
  );
}

async function recordMembers(
  tx: Tx,
  context: Context,
  team: TeamView,
  change: { before?: Member[]; after?: Member[] },
): Promise<void> {
  const listed = (members: Member[] | undefined) =>
    members && { members: members.map(({ membershipId, username }) => ({ membership: membershipId, username })) };
  await recordEvent(tx, context, {
    organizationId: team.organizationId,
    verb: change.after === undefined ? "remove-members" : "add-members",
    subject: { type: "teams", id: team.id },
    before: listed(change.before),
    after: listed(change.after),
  });
}

/** Members' ids and documents, for `include`: a constant number of statements. Whoever may see the team may see who is in it. */
async function withMembers(
  tx: Tx,
  context: Context,
  views: readonly TeamView[],
  wanted: ReadonlySet<MemberKind>,
): Promise<{ views: TeamView[]; included?: Included[] }> {
  if (wanted.size === 0) return { views: [...views] };
  const members = await membersOf(
    tx,
    views.map((view) => view.id),
  );
  const of = (team: TeamView) => members.filter((member) => member.teamId === team.id);
  const included: Included[] = [];
  if (wanted.has("users")) {
    const people = await usersByIds(
      tx,
      context,
      members.flatMap((member) => member.userId ?? []),
    );
    included.push(...people.map((view) => ({ definition: users, view })));
  }
  if (wanted.has("organization-memberships")) {
    const memberships = await membershipsByIds(
      tx,
      context.actor,
      { seesSecretTeams: views[0]?.standing.seesSecretTeams ?? false },
      members.map((member) => member.membershipId),
    );
    included.push(...memberships.map((view) => ({ definition: organizationMemberships, view })));
  }
  return {
    views: views.map((view) => ({
      ...view,
      ...(wanted.has("users") && { userIds: of(view).flatMap((member) => member.userId ?? []) }),
      ...(wanted.has("organization-memberships") && { membershipIds: of(view).map((member) => member.membershipId) }),
    })),
    included,
  };
}
