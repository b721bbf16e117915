/** What neighbours ask of assessments. */
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";

/** The run of an assessment that goes on in a workspace, unless it was told to stop already. */
export async function assessmentUnderway(
  tx: Tx,
  { workspaceId }: Pick<RunTable, "workspaceId">,
): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom("assessmentResults as a")
    .innerJoin("runs as r", "r.id", "a.runId")
    .select("a.runId")
    .where("a.workspaceId", "=", workspaceId)
    .where("a.finished", "=", 0)
    .where("r.endedAt", "is", null)
    .where("r.canceledAt", "is", null)
    .executeTakeFirst();
  return row?.runId;
}
