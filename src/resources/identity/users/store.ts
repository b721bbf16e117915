/** SQL of users. */
import { sql } from "kysely";
import type { Actor } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { containsWords } from "../../../database/dialect.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { SiteAdminProof } from "../../shared/administration.ts";
import { isOpenTo } from "../../shared/grants/reads.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { updateRow } from "../../shared/versions.ts";
import { openWithId } from "../../shared/open-organizations.ts";

export async function findUser(tx: Tx, id: string): Promise<UserTable | undefined> {
  return tx.db.selectFrom("users as u").selectAll().where("u.id", "=", id).executeTakeFirst();
}

export interface LockedUser {
  readonly user: UserTable | undefined;
  readonly otherSiteAdmins: number;
}

/** Locks in the order of ids. Site admins are locked so that concurrent requests can't remove the last two. */
export async function lockUser(
  tx: Tx,
  id: string,
  { purpose, withSiteAdmins }: { readonly purpose: "change" | "removal"; readonly withSiteAdmins: boolean },
): Promise<LockedUser> {
  const rows = await tx.db
    .selectFrom("users as u")
    .selectAll("u")
    .where((where) => where.or([where("u.id", "=", id), ...(withSiteAdmins ? [where("u.isSiteAdmin", "=", 1)] : [])]))
    .orderBy("u.id")
    .modifyEnd(tx.dialect.lockRows("u", purpose))
    .execute();
  const otherSiteAdmins = rows.filter((row) => row.id !== id && row.isSiteAdmin === 1).length;
  return { user: rows.find((row) => row.id === id), otherSiteAdmins };
}

export async function findUsers(tx: Tx, ids: readonly string[]): Promise<UserTable[]> {
  return tx.db
    .selectFrom("users")
    .selectAll()
    .where(tx.dialect.isOneOf(sql.ref("id"), ids))
    .orderBy("id")
    .execute();
}

/** The caller itself, and people in an organization that accepts the caller's token. */
export async function findVisibleUsers(tx: Tx, ids: readonly string[], actor: Actor): Promise<UserTable[]> {
  const userId = actor.kind === "user" ? actor.userId : "";
  const organizationId = "organizationId" in actor ? actor.organizationId : "";
  return tx.db
    .selectFrom("users as u")
    .selectAll("u")
    .where(tx.dialect.isOneOf(sql.ref("u.id"), ids))
    .where((where) =>
      where.or([
        where("u.id", "=", userId),
        where.exists(
          where
            .selectFrom("organizationMemberships as theirs")
            .select("theirs.id")
            .whereRef("theirs.userId", "=", "u.id")
            .where("theirs.organizationId", "in", (query) =>
              query
                .selectFrom("organizationMemberships as mine")
                .innerJoin("organizations as o", openWithId("mine.organizationId"))
                .select("mine.organizationId")
                .where(isOpenTo(actor))
                .where((mine) =>
                  mine.or([mine("mine.userId", "=", userId), mine("mine.organizationId", "=", organizationId)]),
                ),
            ),
        ),
      ]),
    )
    .orderBy("u.id")
    .execute();
}

export async function listUserRows(
  tx: Tx,
  page: Page,
  q: string | undefined,
): Promise<{ rows: UserTable[]; totalCount: number }> {
  let rows = tx.db.selectFrom("users as u").selectAll("u");
  if (q) rows = rows.where(containsWords(tx.dialect, [sql.ref("u.usernameKey"), sql.ref("u.emailKey")], q));
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "usernameKey" }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows) },
  });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}

export async function findTakenFields(
  tx: Tx,
  user: { id: string; usernameKey: string; emailKey: string },
): Promise<{ username: boolean; email: boolean }> {
  const rows = await tx.db
    .selectFrom("users")
    .select(["usernameKey", "emailKey"])
    .where("id", "<>", user.id)
    .where((where) => where.or([where("usernameKey", "=", user.usernameKey), where("emailKey", "=", user.emailKey)]))
    .execute();
  return {
    username: rows.some((row) => row.usernameKey === user.usernameKey),
    email: rows.some((row) => row.emailKey === user.emailKey),
  };
}

export type UserCreateProof = SiteAdminProof | Granted<object, "can-create-users" | "can-accept">;

export async function insertUser(tx: Tx, _by: UserCreateProof, row: UserTable): Promise<void> {
  await tx.db.insertInto("users").values(row).execute();
}

export async function updateUserRow(
  tx: Tx,
  user: Granted<UserTable, "can-update" | "can-sign-in">,
  changes: Partial<UserTable>,
): Promise<void> {
  await updateRow(tx, "users", user.id, changes);
}

export async function deleteUserRow(tx: Tx, user: Granted<UserTable, "can-destroy">): Promise<void> {
  await tx.db.deleteFrom("users").where("id", "=", user.id).execute();
}
