/** What neighbours have done to teams. */
import { type RawBuilder, type SqlBool, sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { OrganizationMembershipTable, OrganizationTable, TeamTable } from "../../../database/schema/identity.ts";
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
  await insertTeam(tx, team);
  return team;
}

/** Puts a new member into teams. Someone who is only invited is not counted yet. */
export async function joinTeams(
  tx: Tx,
  membership: OrganizationMembershipTable,
  teams: readonly Granted<TeamView, "can-update-membership">[],
): Promise<void> {
  if (teams.length === 0) return;
  const { id: membershipId, organizationId, userId, createdAt } = membership;
  await tx.db
    .insertInto("teamMembers")
    .values(teams.map((team) => ({ organizationId, teamId: team.id, membershipId, userId, createdAt })))
    .execute();
  if (userId === null) return;
  await countPerson(
    tx,
    teams.map((team) => team.id),
  );
}

/** These teams have a person more. */
export async function countPerson(tx: Tx, teamIds: readonly string[]): Promise<void> {
  if (teamIds.length === 0) return;
  await tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count + 1`, version: sql`version + 1` })
    .where(tx.dialect.isOneOf(sql.ref("id"), teamIds))
    .execute();
}

/** Before a membership goes: its teams have a person less. */
export async function discountMembership(tx: Tx, membershipId: string): Promise<void> {
  await discount(tx, sql<SqlBool>`membership_id = ${membershipId} and user_id is not null`);
}

/** Before a user goes: all its teams have a person less. */
export async function discountUser(tx: Tx, userId: string): Promise<void> {
  await discount(tx, sql<SqlBool>`user_id = ${userId}`);
}

/**
 * The teams are held first and their members looked at again then: one statement would count twice a person whom somebody
 * else is just taking out of a team.
 */
async function discount(tx: Tx, leaving: RawBuilder<SqlBool>): Promise<void> {
  const teamIds = tx.db.selectFrom("teamMembers").select("teamId").where(leaving);
  await tx.db
    .selectFrom("teams as t")
    .select("t.id")
    .where("t.id", "in", teamIds)
    .orderBy("t.id")
    .modifyEnd(tx.dialect.lockRows("t"))
    .execute();
  await tx.db
    .updateTable("teams")
    .set({ usersCount: sql`users_count - 1`, version: sql`version + 1` })
    .where("id", "in", teamIds)
    .execute();
}
