/** Reads of users for other modules. */
import type { Tx } from "../../../database/database.ts";
import { isSiteAdmin } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { UserTable } from "../../../database/schema/identity.ts";
import { notFound } from "../../../kernel/errors.ts";
import type { Context } from "../../shared/context.ts";
import type { UserView } from "./definition.ts";
import { authorizeUser, toUserView } from "./rules.ts";
import { findVisibleUsers, findUser, findUsers, lockUser } from "./store.ts";
import { sql } from "kysely";
import { fold } from "../../../kernel/text.ts";

export async function loadTokenUser(
  tx: Tx,
  context: Pick<Context, "actor">,
  id: string,
): Promise<Granted<UserTable, "can-manage-user-tokens">> {
  const user = await findUser(tx, id);
  if (user === undefined) throw notFound("user");
  return authorizeUser(context.actor, user, "can-manage-user-tokens");
}

export async function findUserForUpdate(tx: Tx, id: string): Promise<UserTable | undefined> {
  return (await lockUser(tx, id, { purpose: "change", withSiteAdmins: false })).user;
}

export async function usersByIds(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  ids: readonly string[],
): Promise<UserView[]> {
  const rows = await findUsers(tx, ids);
  return rows.map((row) => toUserView(context.actor, row, context.options));
}

export async function readableUsers(
  tx: Tx,
  context: Pick<Context, "actor" | "options">,
  ids: readonly string[],
): Promise<UserView[]> {
  const { actor, options } = context;
  const rows = isSiteAdmin(actor) ? await findUsers(tx, ids) : await findVisibleUsers(tx, ids, actor);
  return rows.map((row) => toUserView(actor, row, options));
}

export async function findTakenUsernames(tx: Tx, names: readonly string[]): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("users")
    .select("usernameKey")
    .where(tx.dialect.isOneOf(sql.ref("usernameKey"), names.map(fold)))
    .execute();
  return rows.map(({ usernameKey }) => usernameKey);
}
