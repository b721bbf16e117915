/**
 * How whoever tidies up begins: with the organization in which something ended first, held, as the order of locks wants it. By the
 * database's clock, because a removal can't be undone and servers' clocks may differ.
 */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";

export interface Ended {
  readonly organizationId: string;
  /** The present by the database's clock, as it is stored: what ended until then goes. */
  readonly until: string;
}

/** `alone` as in `shared/locks.ts`. Undefined where nothing has ended. */
export async function holdFirstEnded(
  tx: Tx,
  table: "teamMembers" | "teamProjects" | "teamWorkspaces",
  { alone = false } = {},
): Promise<Ended | undefined> {
  const { rows } = await sql<{ nowMs: number }>`select ${tx.dialect.nowMs} as now_ms`.execute(tx.db);
  const until = new Date(rows[0]?.nowMs ?? 0).toISOString();
  const first = await tx.db
    .selectFrom(table as "teamProjects")
    .select("organizationId")
    .where("expiresAt", "<=", until)
    .orderBy("expiresAt")
    .limit(1)
    .executeTakeFirst();
  if (first === undefined) return undefined;
  const { organizationId } = first;
  await tx.db
    .selectFrom("organizations as o")
    .select("o.id")
    .where("o.id", "=", organizationId)
    .modifyEnd(tx.dialect.lockRows("o", alone ? "change" : "reference"))
    .execute();
  return { organizationId, until };
}
