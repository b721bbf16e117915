/** What a plan in JSON tells about drift and checks. Pure; the plan is somebody else's data. */
import type { AssessmentResultTable } from "../../../database/schema/runs.ts";

type Loose = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Loose => typeof value === "object" && value !== null;
const listIn = (value: unknown, name: string): readonly unknown[] => {
  const list = isObject(value) ? value[name] : undefined;
  return Array.isArray(list) ? list : [];
};

export type Findings = Pick<
  AssessmentResultTable,
  | "drifted"
  | "resourcesDrifted"
  | "resourcesUndrifted"
  | "checksPassed"
  | "checksFailed"
  | "checksErrored"
  | "checksUnknown"
>;

export const nothingFound: Findings = {
  drifted: 0,
  resourcesDrifted: 0,
  resourcesUndrifted: 0,
  checksPassed: 0,
  checksFailed: 0,
  checksErrored: 0,
  checksUnknown: 0,
};

/** How many resources have drifted, and how many checks have which status. */
export interface PlanSummary {
  readonly drifted: number;
  readonly checks: Readonly<Record<"pass" | "fail" | "error" | "unknown", number>>;
}

/** Of a plan, as far as it has `resource_drift` and `checks`. */
export function summaryOf(plan: unknown): PlanSummary {
  const drifted = listIn(plan, "resource_drift").filter((each) => {
    const actions = isObject(each) ? listIn(each["change"], "actions") : [];
    return actions.some((action) => action !== "no-op" && action !== "read");
  }).length;
  const checks = listIn(plan, "checks").flatMap((check) => {
    const instances = listIn(check, "instances");
    return instances.length > 0 ? instances : [check];
  });
  const counted = (status: string) => checks.filter((check) => isObject(check) && check["status"] === status).length;
  return {
    drifted,
    checks: { pass: counted("pass"), fail: counted("fail"), error: counted("error"), unknown: counted("unknown") },
  };
}

/** `resourceCount`: how many the workspace manages. */
export function findingsOf({ drifted, checks }: PlanSummary, resourceCount: number): Findings {
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
