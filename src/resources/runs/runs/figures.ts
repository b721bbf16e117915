/** What the end of a run changes in the figures of its workspace, and in its schedule. Pure. */
import type { RunTable } from "../../../database/schema/runs.ts";
import type { WorkspaceTable } from "../../../database/schema/workspaces.ts";

type WorkspaceFigures = Pick<
  WorkspaceTable,
  "runsCount" | "runFailures" | "planDurationAverage" | "applyDurationAverage"
>;

/** Over so many of the latest that were applied or failed. */
export const figuresOver = 30;

/** A run that ended, with when its phases were where. */
export interface EndedRun {
  readonly status: string;
  readonly planTimestamps: string;
  readonly applyTimestamps: string;
}

export function figuresOf(ended: readonly EndedRun[]): WorkspaceFigures {
  return {
    runsCount: ended.length,
    runFailures: ended.filter(({ status }) => status === "errored").length,
    planDurationAverage: averageOf(ended.map(({ planTimestamps }) => durationOf(planTimestamps))),
    applyDurationAverage: averageOf(ended.map(({ applyTimestamps }) => durationOf(applyTimestamps))),
  };
}

const ends = ["finished-at", "errored-at", "canceled-at"];

/** Undefined for a phase that was not executed. */
function durationOf(timestamps: string): number | undefined {
  const stamps = JSON.parse(timestamps) as Readonly<Record<string, string>>;
  const [start, end] = [stamps["started-at"], ends.map((name) => stamps[name]).find((stamp) => stamp !== undefined)];
  return start === undefined || end === undefined ? undefined : Date.parse(end) - Date.parse(start);
}

function averageOf(durations: readonly (number | undefined)[]): number {
  const known = durations.filter((each) => each !== undefined);
  return known.length === 0 ? 0 : Math.round(known.reduce((sum, each) => sum + each, 0) / known.length);
}

/** Whether the end of this run counts. */
export const countsForFigures = ({ status, planOnly }: Pick<RunTable, "status" | "planOnly">): boolean =>
  planOnly === 0 && (status === "applied" || status === "errored");

/** What is told of a schedule once the run that it started has ended; undefined where it started none of these. */
export function scheduleAfter(
  ended: readonly Pick<RunTable, "status" | "triggerReason">[],
): { readonly autoDestroyStatus: string | null } | undefined {
  const scheduled = ended.filter(({ triggerReason }) => triggerReason === "auto_destroy").at(-1);
  if (scheduled === undefined) return undefined;
  const isDone = scheduled.status === "applied" || scheduled.status === "planned_and_finished";
  return { autoDestroyStatus: isDone ? null : "errored" };
}
