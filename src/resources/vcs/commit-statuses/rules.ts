/** The commit status that providers show for a run. Pure. */
import type { CommitState, CommitStatus } from "../providers/provider.ts";

export const stateOfRun: Readonly<Record<string, CommitState>> = {
  planning: "running",
  confirmed: "running",
  apply_queued: "running",
  applying: "running",
  planned: "needs-confirmation",
  planned_and_saved: "needs-confirmation",
  planned_and_finished: "success",
  applied: "success",
  errored: "failure",
  canceled: "canceled",
  discarded: "canceled",
};

const sentences: Readonly<Record<CommitState, string>> = {
  pending: "The run is queued.",
  running: "The run is in progress.",
  "needs-confirmation": "The plan needs confirmation.",
  success: "The run has finished.",
  failure: "The run has failed.",
  canceled: "The run was canceled or discarded.",
};

export const isLast = (state: CommitState): boolean => ["success", "failure", "canceled"].includes(state);

export interface ReportedRun {
  readonly runId: string;
  readonly runStatus: string;
  readonly sha: string;
  readonly workspaceName: string;
  readonly organizationName: string;
}

export function statusOf(run: ReportedRun, publicUrl: string): CommitStatus {
  const { runId, runStatus, sha, workspaceName, organizationName } = run;
  const state = stateOfRun[runStatus] ?? "pending";
  return {
    sha,
    state,
    context: `Cadastre/${organizationName}/${workspaceName}`,
    description: sentences[state],
    url: `${publicUrl}/app/${organizationName}/${workspaceName}/runs/${runId}`,
  };
}
