/** What neighbours have done to teams, and to the places of people in them. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationMembershipTable, OrganizationTable, TeamTable } from "../../../database/schema/identity.ts";
import { conflict } from "../../../kernel/errors.ts";
import { raised } from "../../shared/versions.ts";
import type { TeamView } from "./definition.ts";
import { newOwnersTeam } from "./rules.ts";
import { insertTeam } from "./store.ts";

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

/** Puts a new member into teams. Someone who is only invited is not counted yet. */
export async function joinTeams(
  tx: Tx,
  membership: Joining,
  teams: readonly Granted<TeamView, "can-update-membership">[],
): Promise<void> {
  if (teams.length === 0) return;
  const ids = teams.map((team) => team.id);
  await seat(tx, membership, ids);
  if (membership.userId !== null) await countPerson(tx, ids);
}

async function seat(tx: Tx, membership: Joining, teamIds: readonly string[]): Promise<void> {
  const { id: membershipId, organizationId, userId, createdAt } = membership;
  await tx.db
    .insertInto("teamMembers")
    .values(teamIds.map((teamId) => ({ organizationId, teamId, membershipId, userId, createdAt })))
    .execute();
}

/** Invited people have become a user: their places in teams give what the teams hold from now on, and count. */
export async function activateSeats(
  tx: Tx,
  membershipIds: readonly string[],
  userId: string,
  teamIds: readonly string[],
): Promise<void> {
  await tx.db
    .updateTable("teamMembers")
    .set({ userId })
    .where(tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds))
    .execute();
  await countPerson(tx, teamIds);
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
  const ownerless = left.filter((team) => team.isOwners === 1 && team.usersCount === 0);
  if (ownerless.length > 0)
    throw conflict(
      `The user is the last owner of ${listed(ownerless.map((team) => team.organizationName))}. Add another person to the owners team there first, or delete the organization.`,
    );
}

const namesMax = 5;

function listed(names: readonly string[]): string {
  const sorted = names.toSorted();
  if (sorted.length > namesMax) return `${sorted.slice(0, namesMax).join(", ")} and ${sorted.length - namesMax} more`;
  return sorted.join(", ");
}

interface Discounted {
  readonly isOwners: number;
  /** After it. */
  readonly usersCount: number;
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
    .returning(["isOwners", "usersCount"])
    .returning(sql<string>`(select name from organizations where id = organization_id)`.as("organizationName"))
    .execute();
}
