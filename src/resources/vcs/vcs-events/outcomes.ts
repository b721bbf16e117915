/** Ends events that start no run, with an outcome and its reason; `starting.ts` ends the others. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { now } from "../../../kernel/time.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { vcsEventMeasurements } from "../../shared/process-events.ts";
import type { OpenConnection } from "../connections.ts";
import { type VcsRepositoryEvent, eventLabel } from "../triggers/repository-event.ts";
import type { VcsEventOutcome } from "./definition.ts";
import { lockUndecided, updateEvent, type UndecidedEvent } from "./store.ts";
import type { JobContext } from "../../shared/job-context.ts";

export interface VcsEventContext {
  readonly event: UndecidedEvent;
  readonly workspace: WorkspaceView;
  readonly connection: OpenConnection;
}

export function labelOfEvent({ kind, repositoryEventJson, repository }: UndecidedEvent): string {
  if (repositoryEventJson === null) return kind === "connection" ? `connecting ${repository}` : kind;
  return eventLabel(JSON.parse(repositoryEventJson) as VcsRepositoryEvent);
}

export interface VcsEventEnding {
  readonly outcome: Exclude<VcsEventOutcome, "started">;
  readonly why: string;
}

export async function endEvent(
  tx: Tx,
  by: Capability<"job">,
  event: UndecidedEvent,
  { outcome, why }: VcsEventEnding,
): Promise<void> {
  await updateEvent(tx, by, event.id, {
    outcome,
    detail: `${labelOfEvent(event)} started no run: ${why}`,
    dueMs: null,
    decidedAt: now(),
  });
}

export async function endUndecidedEvent(
  { capability, step }: JobContext,
  event: UndecidedEvent,
  ending: VcsEventEnding,
): Promise<void> {
  const isEnded = await step(async (tx) => {
    if ((await lockUndecided(tx, event.id)) === undefined) return false;
    await endEvent(tx, capability, event, ending);
    return true;
  });
  if (isEnded) countEvent(event, ending.outcome);
}

export const ignoreEvent = (job: JobContext, event: UndecidedEvent, why: string): Promise<void> =>
  endUndecidedEvent(job, event, { outcome: "ignored", why });

export const countEvent = ({ provider }: { readonly provider: string | null }, result: VcsEventOutcome): void =>
  vcsEventMeasurements.publish({ provider: provider ?? "unknown", result });
