/** SQL for assessments: results, running assessments, and workspaces that are due. */
import { principalOf, type Actor } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { insertRow, prepared } from "../../../database/prepared.ts";
import type { AssessmentResultTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import {
  workspaceAccessColumns,
  type WorkspaceAccessRow,
  workspacePermissionInputOf,
} from "../../shared/grants/reads.ts";
import { updateRow } from "../../shared/versions.ts";
import type { Capability } from "../../../access/capability.ts";
import type { AssessmentResultView } from "./definition.ts";
import type { AssessmentFindings } from "./rules.ts";
import { isInOpenOrganization, openWithId } from "../../shared/open-organizations.ts";

type AssessmentQuery = { id: string; principal: string };

const byId = prepared<AssessmentQuery, AssessmentResultTable & WorkspaceAccessRow & { planId: string }>(
  (db, { id, principal }) =>
    db
      .selectFrom("assessmentResults as a")
      .innerJoin("runs as r", "r.id", "a.runId")
      .innerJoin("workspaces as w", "w.id", "a.workspaceId")
      .innerJoin("organizations as o", openWithId("a.organizationId"))
      .selectAll("a")
      .select(["r.planId", "o.allowForceDeleteWorkspaces"])
      .select(workspaceAccessColumns(principal))
      .where("a.id", "=", id)
      .where("a.finished", "=", 1),
);

export async function findResult(tx: Tx, actor: Actor, id: string): Promise<AssessmentResultView | undefined> {
  const [row] = await byId(tx, { id, principal: principalOf(actor) });
  return row && { ...row, ...workspacePermissionInputOf(actor, row) };
}

export type RunningAssessment = Pick<AssessmentResultTable, "id" | "runId" | "organizationId" | "workspaceId">;

export async function findRunningAssessments(tx: Tx): Promise<RunningAssessment[]> {
  return tx.db
    .selectFrom("assessmentResults")
    .select(["id", "runId", "organizationId", "workspaceId"])
    .where("finished", "=", 0)
    .where(isInOpenOrganization("assessmentResults.organizationId"))
    .orderBy("id")
    .execute();
}

export async function findDueWorkspaces(tx: Tx, since: string, limit: number): Promise<string[]> {
  const rows = await tx.db
    .selectFrom("workspaces as w")
    .innerJoin("organizations as o", openWithId("w.organizationId"))
    .select("w.id")
    .where((where) => where.or([where("w.assessmentsEnabled", "=", 1), where("o.assessmentsEnforced", "=", 1)]))
    .where("w.currentRunStatus", "in", ["applied", "planned_and_finished"])
    .where((where) => where.or([where("w.lockedByType", "is", null), where("w.lockExpiresAt", "<=", now())]))
    .where((where) =>
      where.or([where("w.lastAssessmentResultAt", "is", null), where("w.lastAssessmentResultAt", "<", since)]),
    )
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom("assessmentResults as a")
            .select("a.id")
            .whereRef("a.workspaceId", "=", "w.id")
            .where("a.finished", "=", 0),
        ),
      ),
    )
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("runs as r")
          .select("r.id")
          .whereRef("r.organizationId", "=", "w.organizationId")
          .whereRef("r.workspaceId", "=", "w.id")
          .where("r.planOnly", "=", 0)
          .where("r.status", "=", "applied"),
      ),
    )
    .orderBy("w.id")
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

export async function insertResult(tx: Tx, _by: Capability<"job">, result: AssessmentResultTable): Promise<void> {
  await insertRow(tx, "assessmentResults", result);
}

export async function finishResult(
  tx: Tx,
  _by: Capability<"job">,
  id: string,
  changes: Partial<AssessmentResultTable>,
): Promise<void> {
  await updateRow(tx, "assessmentResults", id, { ...changes, finished: 1 });
}

export async function deleteResult(tx: Tx, _by: Capability<"job">, id: string): Promise<void> {
  await tx.db.deleteFrom("assessmentResults").where("id", "=", id).execute();
}

export type ResultFigures = AssessmentFindings & Pick<AssessmentResultTable, "id" | "succeeded" | "createdAt">;

export async function findResultFigures(tx: Tx, id: string | null): Promise<ResultFigures | undefined> {
  if (id === null) return undefined;
  return tx.db.selectFrom("assessmentResults").selectAll().where("id", "=", id).executeTakeFirst();
}
