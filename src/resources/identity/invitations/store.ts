/** SQL of invitations. Secrets come in hashed, and none comes out. */
import { sql } from "kysely";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { InvitationTable } from "../../../database/schema/identity.ts";
import { now } from "../../../kernel/time.ts";
import type { Accepted, Destination, OpenInvitation } from "./rules.ts";

/** Whoever may make members, or administers users. */
export type Inviter = Granted<object, "can-manage-memberships" | "can-administer">;

/** A link that works: one statement. Others may have activated the membership since, or set the password. */
export async function findInvitation(tx: Tx, hash: string): Promise<OpenInvitation | undefined> {
  return tx.db
    .selectFrom("invitations as i")
    .leftJoin("organizationMemberships as m", "m.id", "i.membershipId")
    .leftJoin("organizations as o", "o.id", "i.organizationId")
    .leftJoin("users as u", (join) =>
      join.on("u.id", "=", sql<string>`coalesce(i.user_id, (select id from users where email_key = m.email_key))`),
    )
    .leftJoin("passwords as p", "p.userId", "u.id")
    .select(["i.id", "i.organizationId", "i.membershipId", "i.userId", "i.confirmsEmail", "i.createdAt", "i.expiresAt"])
    .select(["o.name as organizationName", "u.id as holderId", "u.username"])
    .select([
      sql<string>`coalesce(m.email, u.email)`.as("email"),
      sql<number>`case when p.user_id is null then 0 else 1 end`.as("hasPassword"),
    ])
    .where("i.hash", "=", hash)
    .where("i.expiresAt", ">", now())
    .where((where) =>
      where.or([
        where.and([where("m.status", "=", "invited"), where("o.isDisabled", "=", 0)]),
        where.and([where("i.userId", "is not", null), where("p.userId", "is", null)]),
      ]),
    )
    .executeTakeFirst();
}

export async function insertInvitation(tx: Tx, _by: Inviter, row: InvitationTable): Promise<void> {
  await insertRow(tx, "invitations", row);
}

/** The one before: a thing has one link at a time. */
export async function deleteInvitationTo(
  tx: Tx,
  _by: Inviter,
  { membershipId, userId }: Pick<Destination, "membershipId" | "userId">,
): Promise<void> {
  await tx.db
    .deleteFrom("invitations")
    .where((where) =>
      membershipId === null ? where("userId", "=", userId ?? "") : where("membershipId", "=", membershipId),
    )
    .execute();
}

export async function deleteInvitation(tx: Tx, { id }: Accepted): Promise<void> {
  await tx.db.deleteFrom("invitations").where("id", "=", id).execute();
}

/** At most so many, those that ended first; what somebody else is about to remove is left. */
export async function deleteEndedInvitations(tx: Tx, limit: number): Promise<number> {
  const ended = await tx.db
    .deleteFrom("invitations")
    .where("id", "in", (rows) =>
      rows
        .selectFrom("invitations as i")
        .select("i.id")
        .where("i.expiresAt", "<=", now())
        .orderBy("i.expiresAt")
        .limit(limit)
        .modifyEnd(tx.dialect.lockFreeRows("i", "removal")),
    )
    .executeTakeFirst();
  return Number(ended.numDeletedRows);
}
