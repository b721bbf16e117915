/** What neighbours have done to memberships. */
import { sql } from "kysely";
import type { Tx } from "../../database/database.ts";
import type { UserTable } from "../../database/schema/identity.ts";
import { newId } from "../../kernel/ids.ts";
import { now } from "../../kernel/time.ts";

/** The maker of an organization becomes a member and an owner. */
export async function addFirstOwner(
  tx: Tx,
  organizationId: string,
  ownersTeamId: string,
  userId: string,
): Promise<void> {
  const membershipId = newId("organization-memberships");
  const createdAt = now();
  await tx.db
    .insertInto("organizationMemberships")
    .columns(["id", "organizationId", "userId", "email", "emailKey", "status", "createdAt", "version"])
    .expression((query) =>
      query
        .selectFrom("users")
        .select([
          sql<string>`${membershipId}`.as("id"),
          sql<string>`${organizationId}`.as("organizationId"),
          "id as userId",
          "email",
          "emailKey",
          sql<string>`'active'`.as("status"),
          sql<string>`${createdAt}`.as("createdAt"),
          sql<number>`1`.as("version"),
        ])
        .where("id", "=", userId),
    )
    .execute();
  await tx.db
    .insertInto("teamMembers")
    .values({ organizationId, teamId: ownersTeamId, membershipId, userId, createdAt })
    .execute();
}

/** A user appears: the invitations to its address become memberships, in their teams too. */
export async function activateInvitations(tx: Tx, user: Pick<UserTable, "id" | "emailKey">): Promise<void> {
  const waiting = sql`(
    select id from organization_memberships as m where m.email_key = ${user.emailKey} and m.status = 'invited'
      and not exists (select 1 from organization_memberships as other where other.organization_id = m.organization_id and other.user_id = ${user.id}))`;
  await sql`update teams set users_count = users_count + 1, version = version + 1
    where id in (select team_id from team_members where user_id is null and membership_id in ${waiting})`.execute(
    tx.db,
  );
  await sql`update team_members set user_id = ${user.id} where user_id is null and membership_id in ${waiting}`.execute(
    tx.db,
  );
  await sql`update organization_memberships set user_id = ${user.id}, status = 'active', version = version + 1 where id in ${waiting}`.execute(
    tx.db,
  );
}
