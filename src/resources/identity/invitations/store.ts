/** SQL of invitations. Secrets come in hashed, and none comes out. */
import type { Capability } from "../../../access/capability.ts";
import { type Kysely, type SqlBool, sql } from "kysely";
import type { CredentialTerm } from "../../../access/credentials.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { InvitationTable } from "../../../database/schema/identity.ts";
import type { Schema } from "../../../database/schema/schema.ts";
import { now } from "../../../kernel/time.ts";
import { inForce } from "../../shared/grants/in-force.ts";
import type { Accepted, Destination, OpenInvitation } from "./rules.ts";

/** Whoever may make members, or administers users. */
export type Inviter = Granted<object, "can-manage-memberships" | "can-administer">;

/** A link that works: one statement. Others may have activated the membership since, or set a password. */
export async function findInvitation(tx: Tx, hash: string): Promise<OpenInvitation | undefined> {
  return openInvitations(tx.db).where("i.hash", "=", hash).executeTakeFirst();
}

/** The same, for whoever sends the link. */
export async function findInvitationById(tx: Tx, id: string): Promise<OpenInvitation | undefined> {
  return openInvitations(tx.db).where("i.id", "=", id).executeTakeFirst();
}

const openInvitations = (db: Kysely<Schema>) =>
  db
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
      // One that the link replaces is nothing to sign in by.
      sql<number>`case when p.user_id is null or i.user_id is not null then 0 else 1 end`.as("hasPassword"),
    ])
    .where("i.expiresAt", ">", now())
    .where((where) =>
      where.or([
        where.and([where("m.status", "=", "invited"), where("o.isDisabled", "=", 0)]),
        where.and([
          where("i.userId", "is not", null),
          where.or([where("p.userId", "is", null), where("p.changedAt", "<=", where.ref("i.createdAt"))]),
        ]),
      ]),
    );

export async function insertInvitation(
  tx: Tx,
  _by: Inviter,
  { endsAt: expiresAt }: CredentialTerm<string>,
  row: InvitationTable,
): Promise<void> {
  await insertRow(tx, "invitations", { ...row, expiresAt });
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

/** Links to these memberships, but for those that the caller or an owner has made. Gives whose they were. */
export async function deleteLinksOfOthers(
  tx: Tx,
  { organizationId }: Granted<{ readonly organizationId: string }, "can-update-membership">,
  membershipIds: readonly string[],
  callerId: string,
): Promise<string[]> {
  const maker = sql<string>`coalesce(made_by_id, '')`;
  const owners = sql`select seat.user_id from team_members as seat inner join teams as t on t.id = seat.team_id
    where t.organization_id = ${organizationId} and t.is_owners = 1 and seat.user_id is not null and ${inForce("seat")}
    union select id from teams where organization_id = ${organizationId} and is_owners = 1
    union select id from users where is_site_admin = 1`;
  const ended = await tx.db
    .deleteFrom("invitations")
    .where(tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds))
    .where(sql<SqlBool>`${maker} not in (${callerId}, ${organizationId}, 'operator') and ${maker} not in (${owners})`)
    .returning("membershipId")
    .execute();
  return ended.flatMap(({ membershipId }) => membershipId ?? []);
}

export async function deleteInvitation(tx: Tx, { id }: Accepted): Promise<void> {
  await tx.db.deleteFrom("invitations").where("id", "=", id).execute();
}

/** At most so many, those that ended first; what somebody else is about to remove is left. */
export async function deleteEndedInvitations(tx: Tx, _by: Capability<"job">, limit: number): Promise<number> {
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
