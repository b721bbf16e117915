/** SQL of passwords and sessions. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow } from "../../../database/prepared.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import type { Page } from "../../../jsonapi/query.ts";
import { fold } from "../../../kernel/text.ts";
import { now } from "../../../kernel/time.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { incrementedVersion } from "../../shared/versions.ts";
import type { SessionView } from "./definition.ts";
import type { SignInUser } from "./rules.ts";

export interface SignInUserRow extends SignInUser {
  readonly passwordHash: string | null;
}

const signInColumns = ["u.id", "u.username", "u.isSiteAdmin", "p.hash as passwordHash"] as const;

/** A username can't look like an email address, so at most one user matches. */
export async function findSignInUser(tx: Tx, nameOrAddress: string): Promise<SignInUserRow | undefined> {
  const key = fold(nameOrAddress);
  return tx.db
    .selectFrom("users as u")
    .leftJoin("passwords as p", "p.userId", "u.id")
    .select(signInColumns)
    .where((where) => where.or([where("u.usernameKey", "=", key), where("u.emailKey", "=", key)]))
    .executeTakeFirst();
}

export async function upsertPassword(
  tx: Tx,
  user: Granted<Pick<UserTable, "id">, "can-update" | "can-administer" | "can-accept">,
  hash: string,
): Promise<void> {
  const row = { hash, changedAt: now() };
  const { numUpdatedRows } = await tx.db
    .updateTable("passwords")
    .set({ ...row, ...incrementedVersion })
    .where("userId", "=", user.id)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) await insertRow(tx, "passwords", { userId: user.id, ...row, version: 1 });
}

const columns = ["id", "description", "createdAt", "expiredAt", "lastUsedAt"] as const;

export async function listSessionRows(
  tx: Tx,
  userId: string,
  page: Page,
): Promise<{ rows: Omit<SessionView, "isCurrent" | "userId">[]; totalCount: number }> {
  const rows = tx.db
    .selectFrom("tokens")
    .select(columns)
    .where("userId", "=", userId)
    .where("kind", "=", "session")
    .where((where) =>
      where.or([
        where("begunById", "is", null),
        where("begunById", "in", (query) =>
          query.selectFrom("tokens as b").select("b.id").where("b.userId", "=", userId),
        ),
      ]),
    );
  const found = await fetchPage(tx, {
    rows,
    order: [{ column: "createdAt", descending: true }, { column: "id" }],
    page,
    totals: { totalCount: countOf(rows.clearSelect().select("id")) },
  });
  return { rows: found.rows, totalCount: found.totals.totalCount };
}

export async function findSessionSignOut(tx: Tx, tokenId: string) {
  return tx.db
    .selectFrom("ssoSessions as s")
    .innerJoin("tokens as t", "t.id", "s.tokenId")
    .select(["t.id", "t.description", "t.createdAt", "t.expiredAt", "t.lastUsedAt", "s.signOutUrl"])
    .where("s.tokenId", "=", tokenId)
    .$narrowType<{ signOutUrl: Uint8Array }>()
    .where("s.signOutUrl", "is not", null)
    .executeTakeFirst();
}
