/** What neighbours have done to teams, and to the places of people in them. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationMembershipTable, OrganizationTable, TeamTable } from "../../../database/schema/identity.ts";
import { conflict } from "../../../kernel/errors.ts";
import { recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { type Ending, lasting } from "../../shared/grants/ending.ts";
import { hasEnded } from "../../shared/grants/in-force.ts";
import { holdFirstEnded } from "../../shared/grants/tidying.ts";
import { raised, updateRow } from "../../shared/versions.ts";
import type { TeamView } from "./definition.ts";
import { newOwnersTeam } from "./rules.ts";
import { membersEvent } from "./seating.ts";
import { insertTeam } from "./store.ts";

type Maker = Pick<Context, "actor" | "requestId">;

/** Every organization begins with its owners team. */
export async function insertOwnersTeam(
  tx: Tx,
  organization: OrganizationTable,
  usersCount: number,
): Promise<TeamTable> {
  const team = newOwnersTeam(organization, usersCount);
  await insertTeam(tx, "a new organization", team);
  return team;
}

type Joining = Pick<OrganizationMembershipTable, "id" | "organizationId" | "userId" | "createdAt">;

/** The maker of an organization is in its owners team, and counted there already. */
export async function seatFirstOwner(tx: Tx, owner: Joining, ownersTeamId: string): Promise<void> {
  await seat(tx, owner, [ownersTeamId]);
}

/** Puts a new member into teams, each until its own end. Someone who is only invited is not counted yet. */
export async function joinTeams(
  tx: Tx,
  membership: Joining,
  teams: readonly Granted<TeamView, "can-update-membership">[],
  endings: ReadonlyMap<string, Ending>,
): Promise<void> {
  if (teams.length === 0) return;
  const ids = teams.map((team) => team.id);
  await seat(tx, membership, ids, endings);
  if (membership.userId !== null) await countPerson(tx, ids);
}

async function seat(
  tx: Tx,
  membership: Joining,
  teamIds: readonly string[],
  endings: ReadonlyMap<string, Ending> = new Map(),
): Promise<void> {
  const { id: membershipId, organizationId, userId, createdAt } = membership;
  await tx.db
    .insertInto("teamMembers")
    .values(
      teamIds.map((teamId) => {
        const { expiresAt, reason } = endings.get(teamId) ?? lasting;
        return { organizationId, teamId, membershipId, userId, expiresAt, reason, createdAt };
      }),
    )
    .execute();
}

/** Invited people have become a user: their places in teams give what the teams hold from now on, and count. */
export async function activateSeats(tx: Tx, membershipIds: readonly string[], userId: string): Promise<void> {
  // Also those that have ended: what tidies up takes them off again.
  const seats = await tx.db
    .updateTable("teamMembers")
    .set({ userId })
    .where(tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds))
    .returning("teamId")
    .execute();
  await countPerson(
    tx,
    seats.map(({ teamId }) => teamId),
  );
}

/** The places of an invitation that a member's own membership takes over; `teamIds` are those that it did not have. */
export interface Inherited {
  readonly from: string;
  readonly to: string;
  readonly teamIds: readonly string[];
}

/** One statement for all the places, and one to count the person in them. */
export async function inheritSeats(tx: Tx, userId: string | null, inherited: readonly Inherited[]): Promise<void> {
  const teamIds = inherited.flatMap((one) => one.teamIds);
  const cases = inherited.map(({ from, to }) => sql`when ${from} then ${to}`);
  await tx.db
    .updateTable("teamMembers")
    .set({ membershipId: sql`case membership_id ${sql.join(cases, sql` `)} end`, userId })
    .where(
      tx.dialect.isOneOf(
        sql.ref("membershipId"),
        inherited.map(({ from }) => from),
      ),
    )
    .where(tx.dialect.isOneOf(sql.ref("teamId"), teamIds))
    .execute();
  await countPerson(tx, teamIds);
}

/** These teams have a person more. */
async function countPerson(tx: Tx, teamIds: readonly string[]): Promise<void> {
  if (teamIds.length === 0) return;
  await tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count + 1`, ...raised })
    .where(tx.dialect.isOneOf(sql.ref("id"), teamIds))
    .execute();
}

/** Before a membership goes: its teams have a person less. */
export async function discountMembership(tx: Tx, membershipId: string): Promise<void> {
  await discount(tx, sql<SqlBool>`membership_id = ${membershipId} and user_id is not null`);
}

/** Before a user goes: all its teams have a person less. Raises `conflict` where an organization would have no owner any more. */
export async function discountUser(tx: Tx, userId: string): Promise<void> {
  const left = await discount(tx, sql<SqlBool>`user_id = ${userId}`);
  const ownerless = left.filter((team) => team.isOwners === 1 && Number(team.staying) === 0);
  if (ownerless.length > 0)
    throw conflict(
      `The user is the last owner of ${listed(ownerless.map((team) => team.organizationName))}. Add another person to the owners team there first, without an end, or delete the organization.`,
    );
}

/** Places that have ended go, where new ones come: those of these memberships, which are held with their organization. */
export async function endSeatsOf(tx: Tx, context: Maker, membershipIds: readonly string[]): Promise<void> {
  const concerned = tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds);
  await removeSeats(tx, context, sql<SqlBool>`${concerned} and ${hasEnded("teamMembers")}`);
}

/** What ended first goes first, of one organization at a time and at most `limit` teams of it. Gives the memberships whose they were. */
export async function tidySeats(tx: Tx, context: Maker, limit: number): Promise<string[]> {
  const ended = await holdFirstEnded(tx, "teamMembers", { alone: true });
  if (ended === undefined) return [];
  const { organizationId, until } = ended;
  const concerned = tx.db
    .selectFrom("teamMembers")
    .select("teamId")
    .where("organizationId", "=", organizationId)
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(limit);
  const held = await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.id", "in", concerned)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  const inHeld = tx.dialect.isOneOf(
    sql.ref("teamId"),
    held.map(({ id }) => id),
  );
  return removeSeats(tx, context, sql<SqlBool>`expires_at <= ${until} and ${inHeld}`);
}

/** The teams count them no more, and the trail tells of it. */
async function removeSeats(tx: Tx, context: Maker, condition: RawBuilder<SqlBool>): Promise<string[]> {
  const gone = await tx.db
    .deleteFrom("teamMembers")
    .where(condition)
    .returningAll()
    .returning(sql<string | null>`(select username from users where id = user_id)`.as("username"))
    .execute();
  const byTeam = [...Map.groupBy(gone, ({ teamId }) => teamId)];
  for (const [teamId, seats] of byTeam) {
    const people = seats.filter(({ userId }) => userId !== null).length;
    await updateRow(tx, "teams", teamId, { usersCount: sql`users_count - ${people}` });
  }
  const events = byTeam.map(([id, seats]) =>
    membersEvent({ id, organizationId: seats[0]?.organizationId ?? "" }, "expire-members", { before: seats }),
  );
  await recordEvents(tx, context, events);
  return gone.map(({ membershipId }) => membershipId);
}

const namesMax = 5;

function listed(names: readonly string[]): string {
  const sorted = names.toSorted();
  if (sorted.length > namesMax) return `${sorted.slice(0, namesMax).join(", ")} and ${sorted.length - namesMax} more`;
  return sorted.join(", ");
}

interface Discounted {
  readonly isOwners: number;
  /** Who else is in it for ever. */
  readonly staying: number;
  readonly organizationName: string;
}

/**
 * The teams are held first and their members looked at again then: one statement would count twice a person whom somebody
 * else is just taking out of a team.
 */
async function discount(tx: Tx, leaving: RawBuilder<SqlBool>): Promise<Discounted[]> {
  const teamIds = tx.db.selectFrom("teamMembers").select("teamId").where(leaving);
  await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.id", "in", teamIds)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  return tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count - 1`, ...raised })
    .where("id", "in", teamIds)
    .returning("isOwners")
    .returning(
      sql<number>`(select count(*) from team_members as stays where stays.team_id = teams.id
        and stays.user_id is not null and stays.expires_at is null and not (${leaving}))`.as("staying"),
    )
    .returning(sql<string>`(select name from organizations where id = organization_id)`.as("organizationName"))
    .execute();
}
