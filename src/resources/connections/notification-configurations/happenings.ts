/** What can have happened that somebody is told of, as the outbox keeps it: JSON, written when it happened. */
import type { RunTriggerName } from "./triggers.ts";

interface Place {
  readonly workspaceId: string;
  readonly workspaceName: string;
  readonly organizationName: string;
}

/** A run is created, or reached a status. */
export interface RunHappening {
  readonly about: "run";
  readonly trigger: RunTriggerName;
  readonly runId: string;
  readonly runMessage: string;
  readonly runCreatedAt: string;
  readonly runCreatedBy: string | null;
  readonly runStatus: string;
  readonly runUpdatedAt: string;
  readonly runUpdatedBy: string | null;
}

export interface AssessmentFigures {
  readonly id: string;
  readonly succeeded: boolean;
  readonly drifted: boolean;
  readonly allChecksSucceeded: boolean;
  readonly resourcesDrifted: number;
  readonly resourcesUndrifted: number;
  readonly checksPassed: number;
  readonly checksFailed: number;
  readonly checksErrored: number;
  readonly checksUnknown: number;
  readonly createdAt: string;
}

/** A workspace was compared with what is really there. */
export interface AssessmentHappening {
  readonly about: "assessment";
  readonly trigger: "assessment:drifted" | "assessment:check_failure" | "assessment:failed";
  readonly now: AssessmentFigures;
  readonly before: AssessmentFigures | null;
}

/** A workspace is to be destroyed, or was, or could not be. */
export interface AutoDestroyHappening {
  readonly about: "auto-destroy";
  readonly trigger: "workspace:auto_destroy_reminder" | "workspace:auto_destroy_run_results";
  readonly autoDestroyAt: string | null;
  readonly runId: string | null;
  readonly runStatus: string | null;
  readonly runCreatedAt: string | null;
  readonly error: string | null;
}

/** Somebody wants to know whether they are heard. */
export interface VerificationHappening {
  readonly about: "verification";
  readonly trigger: "verification";
}

export type Happening = RunHappening | AssessmentHappening | AutoDestroyHappening;

/** With where it happened. */
export type Told = (Happening & Place) | VerificationHappening;
