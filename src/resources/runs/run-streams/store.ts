/** SQL that tells cheaply whether something happened to runs that are followed. */
import { sql } from "kysely";
import type { Tx } from "../../../database/database.ts";

export interface RunProgress {
  readonly id: string;
  readonly version: number;
  readonly planLogBytes: number;
  readonly applyLogBytes: number;
}

/** One narrow statement by primary keys, however many runs are followed. */
export async function findProgress(tx: Tx, ids: readonly string[]): Promise<RunProgress[]> {
  return tx.db
    .selectFrom("runs as r")
    .innerJoin("runPhases as p", "p.id", "r.planId")
    .innerJoin("runPhases as a", "a.id", "r.applyId")
    .select(["r.id", "r.version", "p.logBytes as planLogBytes", "a.logBytes as applyLogBytes"])
    .where(tx.dialect.isOneOf(sql.ref("r.id"), ids))
    .execute();
}
