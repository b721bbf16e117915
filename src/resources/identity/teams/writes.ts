/** Writes to teams and team memberships for other modules. */
import type { Capability } from "../../../access/capability.ts";
import { type Insertable, type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import { RetryTransaction, type Tx } from "../../../database/database.ts";
import type {
  OrganizationMembershipTable,
  OrganizationTable,
  TeamMemberTable,
  TeamTable,
} from "../../../database/schema/identity.ts";
import { now } from "../../../kernel/time.ts";
import { conflict } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { type GrantExpiry, lockFirstExpired, noExpiry } from "../../shared/grants/expiry.ts";
import { hasExpired } from "../../shared/grants/in-force.ts";
import { type GrantOrigin, unknownOrigin } from "../../shared/grants/origin.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import type { TeamView } from "./definition.ts";
import { listNames, newOwnersTeam } from "./rules.ts";
import { membersEvent } from "./member-plan.ts";
import { groupReason, type GroupSyncPlan, planGroupSync, type ProviderGroups, type GroupTeam } from "./group-sync.ts";
import { type UserGroups, insertTeam, lockTeamsOfGroups } from "./store.ts";

export { deleteInvitedSeats } from "./store.ts";

type TeamChangeContext = Pick<Context, "actor" | "requestId">;

export async function insertOwnersTeam(
  tx: Tx,
  by: Capability<"new-organization">,
  organization: OrganizationTable,
  usersCount: number,
): Promise<TeamTable> {
  const team = newOwnersTeam(organization, usersCount);
  await insertTeam(tx, by, team);
  return team;
}

type NewTeamMember = Pick<OrganizationMembershipTable, "id" | "organizationId" | "userId" | "createdAt">;

export async function addFirstOwnerToTeam(
  tx: Tx,
  by: Capability<"new-organization">,
  owner: NewTeamMember,
  ownersTeamId: string,
): Promise<void> {
  await insertTeamMembers(tx, by.proofFor(owner), [ownersTeamId]);
}

/** Invited people are not counted until they become users. */
export async function joinTeams(
  tx: Tx,
  membership: NewTeamMember,
  teams: readonly Granted<TeamView, "can-update-membership">[],
  expiries: ReadonlyMap<string, GrantExpiry>,
  origin: GrantOrigin = unknownOrigin,
): Promise<void> {
  if (teams.length === 0) return;
  const ids = teams.map((team) => team.id);
  await insertTeamMembers(tx, membership, ids, expiries, origin);
  if (membership.userId !== null) await incrementUsersCounts(tx, ids);
}

async function insertTeamMembers(
  tx: Tx,
  membership: NewTeamMember,
  teamIds: readonly string[],
  expiries: ReadonlyMap<string, GrantExpiry> = new Map(),
  origin = unknownOrigin,
): Promise<void> {
  const { id: membershipId, organizationId, userId, createdAt } = membership;
  await tx.db
    .insertInto("teamMembers")
    .values(
      teamIds.map((teamId) => {
        const { expiresAt, reason } = expiries.get(teamId) ?? noExpiry;
        return { organizationId, teamId, membershipId, userId, expiresAt, reason, ...origin, createdAt };
      }),
    )
    .execute();
}

export async function activateTeamMemberships(tx: Tx, membershipIds: readonly string[], userId: string): Promise<void> {
  // Counts ended memberships too, because the cleanup job uncounts them later.
  const activated = await tx.db
    .updateTable("teamMembers")
    .set({ userId })
    .where(tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds))
    .returning("teamId")
    .execute();
  await incrementUsersCounts(
    tx,
    activated.map(({ teamId }) => teamId),
  );
}

/** `teamIds` are the teams that the existing membership `to` was not in. */
export interface TeamMembershipTransfer {
  readonly from: string;
  readonly to: string;
  readonly teamIds: readonly string[];
}

export async function transferTeamMemberships(
  tx: Tx,
  userId: string | null,
  transfers: readonly TeamMembershipTransfer[],
): Promise<void> {
  const teamIds = transfers.flatMap((one) => one.teamIds);
  const membershipAfter = new Map(transfers.map(({ from, to }) => [from, to]));
  // Not an update: access violations refer to a seat by its team and membership.
  const seats = await tx.db
    .deleteFrom("teamMembers")
    .where(
      tx.dialect.isOneOf(
        sql.ref("membershipId"),
        transfers.map(({ from }) => from),
      ),
    )
    .where(tx.dialect.isOneOf(sql.ref("teamId"), teamIds))
    .returningAll()
    .execute();
  const moved = seats.map((seat) => ({ ...seat, membershipId: membershipAfter.get(seat.membershipId) ?? "", userId }));
  if (moved.length > 0) await tx.db.insertInto("teamMembers").values(moved).execute();
  await incrementUsersCounts(tx, teamIds);
}

async function incrementUsersCounts(tx: Tx, teamIds: readonly string[]): Promise<void> {
  if (teamIds.length === 0) return;
  await tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count + 1`, ...incrementedVersion })
    .where(tx.dialect.isOneOf(sql.ref("id"), teamIds))
    .execute();
}

export async function decrementCountsForMembership(
  tx: Tx,
  { id: membershipId }: Granted<{ readonly id: string }, "can-destroy">,
): Promise<void> {
  await decrementCounts(tx, sql<SqlBool>`membership_id = ${membershipId} and user_id is not null`);
}

/** Call before a user is deleted. Throws `conflict` if an organization would lose its last permanent owner. */
export async function decrementCountsForUser(
  tx: Tx,
  { id: userId }: Granted<{ readonly id: string }, "can-destroy">,
): Promise<void> {
  const teams = await decrementCounts(tx, sql<SqlBool>`user_id = ${userId}`);
  const ownerless = teams
    .filter((team) => team.isOwners === 1 && Number(team.permanentMemberCount) === 0)
    .flatMap(({ organizationName }) => organizationName ?? []);
  if (ownerless.length > 0)
    throw conflict(
      `The user is the last owner of ${listNames(ownerless)}. First add another person to that owners team without an expiry, or delete the organization.`,
    );
}

/** For ended memberships that would conflict with new ones. The caller has locked the organization. */
export async function removeEndedMembershipsOf(
  tx: Tx,
  context: TeamChangeContext,
  membershipIds: readonly string[],
): Promise<void> {
  const matching = tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds);
  await deleteTeamMembers(tx, context, sql<SqlBool>`${matching} and ${hasExpired("teamMembers")}`);
}

export async function removeEndedTeamMembers(
  tx: Tx,
  context: TeamChangeContext,
  _by: Capability<"job">,
  limit: number,
): Promise<string[]> {
  const ended = await lockFirstExpired(tx, "teamMembers", { isExclusive: true });
  if (ended === undefined) return [];
  const { organizationId, until } = ended;
  const matching = tx.db
    .selectFrom("teamMembers")
    .select("teamId")
    .where("organizationId", "=", organizationId)
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(limit);
  const locked = await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.id", "in", matching)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  const inLockedTeams = tx.dialect.isOneOf(
    sql.ref("teamId"),
    locked.map(({ id }) => id),
  );
  const deleted = await deleteTeamMembers(tx, context, sql<SqlBool>`expires_at <= ${until} and ${inLockedTeams}`);
  return deleted.map(({ membershipId }) => membershipId);
}

async function deleteTeamMembers(
  tx: Tx,
  context: TeamChangeContext,
  condition: RawBuilder<SqlBool>,
  verb: "expire-members" | "remove-members" = "expire-members",
): Promise<{ teamId: string; membershipId: string }[]> {
  const deleted = await tx.db
    .deleteFrom("teamMembers")
    .where(condition)
    .returningAll()
    .returning(sql<string | null>`(select username from users where id = user_id)`.as("username"))
    .execute();
  const byTeam = [...Map.groupBy(deleted, ({ teamId }) => teamId)];
  const countUsers = (members: typeof deleted) => members.filter(({ userId }) => userId !== null).length;
  await adjustUsersCounts(
    tx,
    byTeam.map(([teamId, members]) => [teamId, -countUsers(members)]),
  );
  const events = byTeam.map(([id, members]) =>
    membersEvent({ id, organizationId: members[0]?.organizationId ?? "" }, verb, { before: members }),
  );
  await recordEvents(tx, context, events);
  return deleted;
}

export type SsoGroupMember = Granted<UserGroups & ProviderGroups & { readonly username: string }, "can-sign-in">;

/** Locks the teams; the caller must have locked their organizations. */
export async function loadGroupSyncPlan(tx: Tx, person: SsoGroupMember): Promise<GroupSyncPlan> {
  return planGroupSync(await lockTeamsOfGroups(tx, person), person);
}

export async function applyGroupSync(
  tx: Tx,
  context: TeamChangeContext,
  person: SsoGroupMember,
  { joining, renamed, leaving }: GroupSyncPlan,
  membershipIn: ReadonlyMap<string, string>,
): Promise<string[]> {
  const { userId, username, providerId, providerName } = person;
  const membershipOf = ({ membershipId, organizationId }: GroupTeam) =>
    membershipId ?? membershipIn.get(organizationId) ?? "";
  const reasonOf = ({ ssoTeamId }: GroupTeam) => groupReason(ssoTeamId ?? "", providerName);
  const members = [...joining, ...renamed].map((team) => ({
    organizationId: team.organizationId,
    teamId: team.teamId,
    membershipId: membershipOf(team),
    userId,
    expiresAt: null,
    reason: reasonOf(team),
    ssoProviderId: providerId,
    ssoGroup: team.ssoTeamId,
    ...unknownOrigin,
    createdAt: now(),
  }));
  await upsertGroupMembers(tx, members);
  await deleteUserFromTeams(
    tx,
    leaving.map(({ teamId }) => teamId),
    userId,
  );
  await adjustUsersCounts(tx, [
    // An ended membership is counted until the cleanup job removes it.
    ...joining.map(({ teamId, hasEnded: counted }) => [teamId, 1 - counted] as const),
    ...leaving.map(({ teamId }) => [teamId, -1] as const),
  ]);
  const membersOf = (team: GroupTeam, { expiresAt, reason }: GrantExpiry) => [
    { membershipId: membershipOf(team), username, expiresAt, reason },
  ];
  const after = (team: GroupTeam) => membersOf(team, { expiresAt: null, reason: reasonOf(team) });
  const subject = (team: GroupTeam) => ({ id: team.teamId, organizationId: team.organizationId });
  const ended = joining.filter((team) => team.hasEnded === 1);
  await recordEvents(tx, context, [
    ...ended.map((team) => membersEvent(subject(team), "expire-members", { before: membersOf(team, team) })),
    ...joining.map((team) => membersEvent(subject(team), "add-members", { after: after(team) })),
    ...renamed.map((team) =>
      membersEvent(subject(team), "update-members", { before: membersOf(team, team), after: after(team) }),
    ),
    ...leaving.map((team) => membersEvent(subject(team), "remove-members", { before: membersOf(team, team) })),
  ]);
  return [...joining, ...leaving].map(membershipOf);
}

async function upsertGroupMembers(tx: Tx, members: readonly Insertable<TeamMemberTable>[]): Promise<void> {
  if (members.length === 0) return;
  await tx.db
    .insertInto("teamMembers")
    .values(members)
    .onConflict((conflict) =>
      conflict.columns(["teamId", "membershipId"]).doUpdateSet((excluded) => ({
        expiresAt: excluded.ref("excluded.expiresAt"),
        reason: excluded.ref("excluded.reason"),
        ssoProviderId: excluded.ref("excluded.ssoProviderId"),
        ssoGroup: excluded.ref("excluded.ssoGroup"),
        ...unknownOrigin,
      })),
    )
    .execute();
}

async function deleteUserFromTeams(tx: Tx, teamIds: readonly string[], userId: string): Promise<void> {
  if (teamIds.length === 0) return;
  await tx.db
    .deleteFrom("teamMembers")
    .where("userId", "=", userId)
    .where(tx.dialect.isOneOf(sql.ref("teamId"), teamIds))
    .execute();
}

/** Call before the provider is locked. Locks organizations, then teams, and returns the team ids. */
export async function lockTeamsOfProvider(tx: Tx, providerId: string): Promise<ReadonlySet<string>> {
  const providerMembers = sql`from team_members as tm where tm.sso_provider_id = ${providerId}`;
  await tx.db
    .selectFrom("openOrganizations as o")
    .select("o.id")
    .where(sql<SqlBool>`o.id in (select tm.organization_id ${providerMembers})`)
    .orderBy("o.id")
    .modifyEnd(tx.dialect.lockRows("o"))
    .execute();
  const locked = await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where(sql<SqlBool>`t.id in (select tm.team_id ${providerMembers})`)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  return new Set(locked.map(({ id }) => id));
}

/** The caller has locked the provider. Throws `RetryTransaction` if its groups added a user before that. */
export async function removeProviderTeamMembers(
  tx: Tx,
  context: TeamChangeContext,
  provider: Granted<{ readonly id: string }, "can-administer">,
  lockedTeams: ReadonlySet<string>,
): Promise<string[]> {
  const deleted = await deleteTeamMembers(
    tx,
    context,
    sql<SqlBool>`sso_provider_id = ${provider.id}`,
    "remove-members",
  );
  if (!deleted.every(({ teamId }) => lockedTeams.has(teamId)))
    throw new RetryTransaction("a user signed in through the provider at the same time");
  return deleted.map(({ membershipId }) => membershipId);
}

async function adjustUsersCounts(
  tx: Tx,
  changes: readonly (readonly [teamId: string, change: number])[],
): Promise<void> {
  if (changes.length === 0) return;
  const cases = changes.map(([teamId, change]) => sql`when ${teamId} then cast(${change} as bigint)`);
  await tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count + case id ${sql.join(cases, sql` `)} end`, ...incrementedVersion })
    .where(
      tx.dialect.isOneOf(
        sql.ref("id"),
        changes.map(([teamId]) => teamId),
      ),
    )
    .execute();
}

interface DecrementedTeam {
  readonly isOwners: number;
  readonly permanentMemberCount: number;
  readonly organizationName: string | null;
}

/** Locks the teams first: one statement would count a person twice who is being removed concurrently. */
async function decrementCounts(tx: Tx, leaving: RawBuilder<SqlBool>): Promise<DecrementedTeam[]> {
  const teamIds = tx.db.selectFrom("teamMembers").select("teamId").where(leaving);
  await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.id", "in", teamIds)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  return (
    tx.db
      .updateTable("teams")
      .set({ usersCount: sql`users_count - 1`, ...incrementedVersion })
      .where("id", "in", teamIds)
      .returning("isOwners")
      .returning(
        sql<number>`(select count(*) from team_members as other where other.team_id = teams.id
        and other.user_id is not null and other.expires_at is null and not (${leaving}))`.as("permanentMemberCount"),
      )
      // Null for a closed organization.
      .returning(
        sql<string | null>`(select name from open_organizations where id = organization_id)`.as("organizationName"),
      )
      .execute()
  );
}
