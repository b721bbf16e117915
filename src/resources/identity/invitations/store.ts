/** SQL of invitations. The hash of a secret must not leave this file. */
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
import type { AcceptableInvitation, InvitationTarget, OpenInvitation } from "./rules.ts";

export type InviteProof = Granted<object, "can-manage-memberships" | "can-administer">;

export async function findInvitation(tx: Tx, hash: string): Promise<OpenInvitation | undefined> {
  return selectOpenInvitations(tx.db).where("i.hash", "=", hash).executeTakeFirst();
}

export async function findInvitationById(tx: Tx, id: string): Promise<OpenInvitation | undefined> {
  return selectOpenInvitations(tx.db).where("i.id", "=", id).executeTakeFirst();
}

const selectOpenInvitations = (db: Kysely<Schema>) =>
  db
    .selectFrom("invitations as i")
    .leftJoin("organizationMemberships as m", "m.id", "i.membershipId")
    .leftJoin("openOrganizations as o", "o.id", "i.organizationId")
    .leftJoin("users as u", (join) =>
      join.on("u.id", "=", sql<string>`coalesce(i.user_id, (select id from users where email_key = m.email_key))`),
    )
    .leftJoin("passwords as p", "p.userId", "u.id")
    .select(["i.id", "i.organizationId", "i.membershipId", "i.userId", "i.confirmsEmail", "i.createdAt", "i.expiresAt"])
    .select(["o.name as organizationName", "u.id as holderId", "u.username"])
    .select([
      sql<string>`coalesce(m.email, u.email)`.as("email"),
      // A link that sets a password ignores the old one.
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
  _by: InviteProof,
  { endsAt: expiresAt }: CredentialTerm<string>,
  row: InvitationTable,
): Promise<void> {
  await insertRow(tx, "invitations", { ...row, expiresAt });
}

export async function deleteInvitationTo(
  tx: Tx,
  _by: InviteProof,
  { membershipId, userId }: Pick<InvitationTarget, "membershipId" | "userId">,
): Promise<void> {
  await tx.db
    .deleteFrom("invitations")
    .where((where) =>
      membershipId === null ? where("userId", "=", userId ?? "") : where("membershipId", "=", membershipId),
    )
    .execute();
}

/** Keeps links that the caller or an owner created. Returns the memberships whose links were deleted. */
export async function deleteInvitationsByOthers(
  tx: Tx,
  { organizationId }: Granted<{ readonly organizationId: string }, "can-update-membership">,
  membershipIds: readonly string[],
  callerId: string,
): Promise<string[]> {
  const creator = sql<string>`coalesce(made_by_id, '')`;
  const owners = sql`select tm.user_id from team_members as tm inner join teams as t on t.id = tm.team_id
    where t.organization_id = ${organizationId} and t.is_owners = 1 and tm.user_id is not null and ${inForce("tm")}
    union select id from teams where organization_id = ${organizationId} and is_owners = 1
    union select id from users where is_site_admin = 1`;
  const deleted = await tx.db
    .deleteFrom("invitations")
    .where(tx.dialect.isOneOf(sql.ref("membershipId"), membershipIds))
    .where(
      sql<SqlBool>`${creator} not in (${callerId}, ${organizationId}, 'operator') and ${creator} not in (${owners})`,
    )
    .returning("membershipId")
    .execute();
  return deleted.flatMap(({ membershipId }) => membershipId ?? []);
}

export async function deleteInvitation(tx: Tx, { id }: AcceptableInvitation): Promise<void> {
  await tx.db.deleteFrom("invitations").where("id", "=", id).execute();
}

export async function deleteExpiredInvitations(tx: Tx, _by: Capability<"job">, limit: number): Promise<number> {
  const deleted = await tx.db
    .deleteFrom("invitations")
    .where("id", "in", (rows) =>
      rows
        .selectFrom("invitations as i")
        .select("i.id")
        .where("i.expiresAt", "<=", now())
        .orderBy("i.expiresAt")
        .limit(limit)
        .modifyEnd(tx.dialect.lockRowsSkipLocked("i", "removal")),
    )
    .executeTakeFirst();
  return Number(deleted.numDeletedRows);
}
