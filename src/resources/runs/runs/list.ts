/** Lists of runs: of a workspace, of an organization, and what waits. */
import { sql } from "kysely";
import { principalOf } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { Page } from "../../../jsonapi/query.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import type { Context } from "../../shared/context.ts";
import { countOf, fetchPage } from "../../shared/paging.ts";
import { runsForActor, toRunView } from "./store.ts";
import type { RunView } from "./view.ts";

export interface RunSearch {
  readonly page: Page;
}

/** The newest first. Plans alone are left out unless they are asked for by name. */
export async function pageOfWorkspaceRuns(
  tx: Tx,
  context: Pick<Context, "actor" | "vault">,
  workspace: Granted<WorkspaceView, "can-read-run">,
  { page }: RunSearch,
): Promise<{ views: RunView[]; totalCount: number }> {
  const found = tx.db
    .selectFrom("runs as q")
    .where("q.organizationId", "=", workspace.organizationId)
    .where("q.workspaceId", "=", workspace.id)
    .where("q.planOnly", "=", 0);
  const ids = found.select(["q.id", "q.position"]);
  const { rows, totals } = await fetchPage(tx, {
    rows: runsForActor(tx.db, principalOf(context.actor), tx.dialect).where(
      "r.id",
      "in",
      ids.clearSelect().select("q.id"),
    ),
    order: [{ column: "r.position", descending: true }],
    page,
    totals: { totalCount: countOf(found.select("q.id")) },
  });
  void sql;
  return { views: rows.map((row) => toRunView(row, context)), totalCount: totals.totalCount };
}
