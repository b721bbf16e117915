/** Collects the run events, audit events and notifications of transitions; `flush` writes them in the same transaction. */
import { actorName } from "../../../access/actor.ts";
import { Capability } from "../../../access/capability.ts";
import { belongsTo } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { CommentTable, RunTable } from "../../../database/schema/runs.ts";
import { now } from "../../../kernel/time.ts";
import { type RunTriggerName, triggerForStatus } from "../../connections/notification-configurations/triggers.ts";
import { type WorkspaceNotification, notifySubscribers } from "../../connections/notification-configurations/writes.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import type { RunTransitionProof, RunTransition } from "../capabilities.ts";
import { recordRunEvents, type RunEvent, storeComment } from "../run-events/writes.ts";
import { runEventActionOf, isFinal, type StatusTransition } from "./state-machine.ts";

type RunId = Pick<RunTable, "id" | "organizationId">;
type NotifiedRun = RunId &
  Pick<RunTable, "workspaceId" | "planOnly" | "message" | "createdAt" | "createdByName" | "triggerReason">;

const issueTransition = Capability.issuer("run-transition");

export class TransitionRecorder {
  readonly tx: Tx;
  readonly context: Context;
  readonly by: RunTransition;
  readonly #runEvents: RunEvent[] = [];
  readonly #auditEvents: AuditEvent[] = [];
  readonly #notifications: WorkspaceNotification[] = [];

  constructor(tx: Tx, context: Context, by: RunTransitionProof, workspaceId: string) {
    if (!belongsTo(by, workspaceId)) throw new Error(`The grant does not belong to the workspace ${workspaceId}.`);
    this.tx = tx;
    this.context = context;
    this.by = issueTransition(workspaceId);
  }

  recordEvent({ id, organizationId }: RunId, action: string, description: string | null = null): void {
    this.#runEvents.push({ run: { id, organizationId }, action, description });
  }

  recordCreation(run: NotifiedRun): void {
    this.recordEvent(run, "created");
    this.#notify(run, "run:created", "pending");
  }

  recordTransition(run: NotifiedRun, { to }: StatusTransition, description: string | null = null): void {
    const last = to.at(-1);
    const trigger = last === undefined ? undefined : triggerForStatus(last);
    if (last !== undefined && trigger !== undefined) this.#notify(run, trigger, last);
    for (const status of to) {
      const action = runEventActionOf(status);
      if (action !== undefined) this.recordEvent(run, action, status === to.at(-1) ? description : null);
    }
  }

  #notify(run: NotifiedRun, trigger: RunTriggerName, runStatus: string): void {
    if (run.planOnly === 1) return;
    const { id: runId, workspaceId, createdAt: runCreatedAt } = run;
    const { actor } = this.context;
    this.#notifications.push({
      workspaceId,
      event: {
        about: "run",
        trigger,
        runId,
        runMessage: run.message,
        runCreatedAt,
        runCreatedBy: run.createdByName,
        runStatus,
        runUpdatedAt: now(),
        runUpdatedBy: actor.kind === "user" || actor.kind === "team" ? actorName(actor) : null,
      },
    });
    if (run.triggerReason !== "auto_destroy" || !isFinal(runStatus)) return;
    const results = { about: "auto-destroy", trigger: "workspace:auto_destroy_run_results" } as const;
    const event = { ...results, autoDestroyAt: null, runId, runStatus, runCreatedAt, error: null };
    this.#notifications.push({ workspaceId, event });
  }

  async addComment(run: RunId, body: string): Promise<CommentTable> {
    const { comment, event, audit } = await storeComment(this.tx, this.by, run, body);
    this.#runEvents.push(event);
    this.#auditEvents.push(audit);
    return comment;
  }

  audit(
    { id, organizationId }: RunId,
    verb: string,
    change: { readonly before?: object; readonly after?: object },
  ): void {
    this.#auditEvents.push({ organizationId, verb, subject: { type: "runs", id }, ...change });
  }

  recordStatusChange(before: RunId & { readonly status: string }, verb: string, status: string): void {
    this.audit(before, verb, { before: { status: before.status }, after: { status } });
  }

  async flush(): Promise<void> {
    await recordRunEvents(this.tx, this.by, this.context.actor, this.#runEvents);
    await recordEvents(this.tx, this.context, this.#auditEvents);
    await notifySubscribers(this.tx, this.context, this.#notifications);
  }
}
