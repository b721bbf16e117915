/** Ends events that start no run, with an outcome and its reason. */
import type { Capability } from "../../../access/capability.ts";
import type { Tx } from "../../../database/database.ts";
import { now } from "../../../kernel/time.ts";
import type { WorkspaceView } from "../../register/workspaces/view.ts";
import { tellVcsEvent } from "../../shared/measures.ts";
import type { OpenConnection } from "../connections.ts";
import { type Happening, nameOf } from "../triggers/happening.ts";
import type { Outcome } from "./definition.ts";
import { lockUndecided, updateEvent, type WaitingEvent } from "./store.ts";
import type { JobWork } from "../../shared/job-work.ts";

export interface Doing {
  readonly event: WaitingEvent;
  readonly workspace: WorkspaceView;
  readonly connection: OpenConnection;
}

export function subjectOf({ kind, happening, repository }: WaitingEvent): string {
  if (happening === null) return kind === "connection" ? `connecting ${repository}` : kind;
  return nameOf(JSON.parse(happening) as Happening);
}

export interface Ending {
  readonly outcome: Exclude<Outcome, "started">;
  readonly why: string;
}

export async function end(tx: Tx, by: Capability<"job">, event: WaitingEvent, { outcome, why }: Ending): Promise<void> {
  await updateEvent(tx, by, event.id, {
    outcome,
    detail: `${subjectOf(event)} started no run: ${why}`,
    dueMs: null,
    decidedAt: now(),
  });
}

export async function settle({ capability, step }: JobWork, event: WaitingEvent, ending: Ending): Promise<void> {
  const isEnded = await step(async (tx) => {
    if ((await lockUndecided(tx, event.id)) === undefined) return false;
    await end(tx, capability, event, ending);
    return true;
  });
  if (isEnded) count(event, ending.outcome);
}

export const ignored = (work: JobWork, event: WaitingEvent, why: string): Promise<void> =>
  settle(work, event, { outcome: "ignored", why });

export const count = ({ provider }: { readonly provider: string | null }, result: Outcome): void =>
  tellVcsEvent({ provider: provider ?? "unknown", result });
