/** The findings of an assessment. Pure. */
import type { AssessmentResultTable } from "../../../database/schema/runs.ts";
import type { PlanSummary } from "../plan-outputs/plan-bytes.ts";

export type AssessmentFindings = Pick<
  AssessmentResultTable,
  | "drifted"
  | "resourcesDrifted"
  | "resourcesUndrifted"
  | "checksPassed"
  | "checksFailed"
  | "checksErrored"
  | "checksUnknown"
>;

export const noFindings: AssessmentFindings = {
  drifted: 0,
  resourcesDrifted: 0,
  resourcesUndrifted: 0,
  checksPassed: 0,
  checksFailed: 0,
  checksErrored: 0,
  checksUnknown: 0,
};

export function findingsOf({ drifted, checks }: PlanSummary, resourceCount: number): AssessmentFindings {
  return {
    drifted: Number(drifted > 0),
    resourcesDrifted: drifted,
    resourcesUndrifted: Math.max(resourceCount - drifted, 0),
    checksPassed: checks.pass,
    checksFailed: checks.fail,
    checksErrored: checks.error,
    checksUnknown: checks.unknown,
  };
}
