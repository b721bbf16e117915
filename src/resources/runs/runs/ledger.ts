/** What a transaction tells of the runs that it moved: their events, the audit trail and notices, each written once at its end. */
import { type Actor, actorName } from "../../../access/actor.ts";
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { type Announcement, announce } from "../../connections/notification-configurations/writes.ts";
import { type RunTriggerName, triggerOf } from "../../connections/notification-configurations/triggers.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { storeComment } from "../comments/writes.ts";
import type { Moving } from "../proofs.ts";
import { now } from "../../../kernel/time.ts";
import { recordRunEvents, type RunEvent } from "../run-events/writes.ts";
import { eventOf, isFinal, type Step } from "./machine.ts";

/** What people are told of a run. */
type Telling = Pick<
  RunTable,
  "id" | "organizationId" | "workspaceId" | "planOnly" | "message" | "createdAt" | "createdByName" | "triggerReason"
>;

export class Ledger {
  readonly #told: RunEvent[] = [];
  readonly #audited: AuditEvent[] = [];
  readonly #announced: ((actor: Actor) => Announcement)[] = [];

  tell(run: Pick<RunTable, "id" | "organizationId">, action: string, description: string | null = null): void {
    this.#told.push({ run: { id: run.id, organizationId: run.organizationId }, action, description });
  }

  /** A run that was not there before. */
  created(run: Telling): void {
    this.tell(run, "created");
    this.#announce(run, "run:created", "pending");
  }

  /** The statuses of a step, those that have a word; and who has subscribed is told of the last. */
  reached(run: Telling, { to }: Step, description: string | null = null): void {
    const last = to.at(-1);
    const trigger = last === undefined ? undefined : triggerOf(last);
    if (last !== undefined && trigger !== undefined) this.#announce(run, trigger, last);
    for (const status of to) {
      const action = eventOf(status);
      if (action !== undefined) this.tell(run, action, status === to.at(-1) ? description : null);
    }
  }

  /** Nobody is told of a plan that nothing can come of. */
  #announce(run: Telling, trigger: RunTriggerName, runStatus: string): void {
    if (run.planOnly === 1) return;
    const { id: runId, workspaceId, createdAt: runCreatedAt } = run;
    const runUpdatedAt = now();
    this.#announced.push((actor) => ({
      workspaceId,
      happening: {
        about: "run",
        trigger,
        runId,
        runMessage: run.message,
        runCreatedAt,
        runCreatedBy: run.createdByName,
        runStatus,
        runUpdatedAt,
        runUpdatedBy: actor.kind === "user" || actor.kind === "team" ? actorName(actor) : null,
      },
    }));
    if (run.triggerReason !== "auto_destroy" || !isFinal(runStatus)) return;
    const results = { about: "auto-destroy", trigger: "workspace:auto_destroy_run_results" } as const;
    const happening = { ...results, autoDestroyAt: null, runId, runStatus, runCreatedAt, error: null };
    this.#announced.push(() => ({ workspaceId, happening }));
  }

  /** What a person says about a step. */
  async comment(
    tx: Tx,
    run: Granted<Pick<RunTable, "id" | "organizationId">, Moving>,
    body: string | null | undefined,
  ): Promise<void> {
    if (!body) return;
    const { event, audit } = await storeComment(tx, run, body);
    this.#told.push(event);
    this.#audited.push(audit);
  }

  audit(
    run: Pick<RunTable, "id" | "organizationId">,
    verb: string,
    told: { readonly before?: object; readonly after?: object },
  ): void {
    this.#audited.push({ organizationId: run.organizationId, verb, subject: { type: "runs", id: run.id }, ...told });
  }

  async write(tx: Tx, context: Context, by: Granted<object, Moving>): Promise<void> {
    await recordRunEvents(tx, by, context.actor, this.#told);
    await recordEvents(tx, context, this.#audited);
    const { actor } = context;
    await announce(
      tx,
      context,
      this.#announced.map((announcement) => announcement(actor)),
    );
  }
}
