/** What a transaction tells of the runs that it moved: their events and the audit trail, each written once at its end. */
import type { Granted } from "../../../access/granted.ts";
import type { Tx } from "../../../database/database.ts";
import type { RunTable } from "../../../database/schema/runs.ts";
import { type AuditEvent, recordEvents } from "../../shared/audit-events/writes.ts";
import type { Context } from "../../shared/context.ts";
import { storeComment } from "../comments/writes.ts";
import type { Moving } from "../proofs.ts";
import { recordRunEvents, type RunEvent } from "../run-events/writes.ts";
import { eventOf, type Step } from "./machine.ts";

export class Ledger {
  readonly #told: RunEvent[] = [];
  readonly #audited: AuditEvent[] = [];

  tell(run: Pick<RunTable, "id" | "organizationId">, action: string, description: string | null = null): void {
    this.#told.push({ run: { id: run.id, organizationId: run.organizationId }, action, description });
  }

  /** The statuses of a step, those that have a word. */
  reached(run: Pick<RunTable, "id" | "organizationId">, { to }: Step, description: string | null = null): void {
    for (const status of to) {
      const action = eventOf(status);
      if (action !== undefined) this.tell(run, action, status === to.at(-1) ? description : null);
    }
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
  }
}
