/** Leaves a run's events, in the transaction of what happened. Whoever writes them holds the run's workspace. */
import { sql } from "kysely";
import { type Actor, actorId, actorName } from "../../../access/actor.ts";
import type { Tx } from "../../../database/database.ts";
import { newId } from "../../../kernel/ids.ts";
import { now } from "../../../kernel/time.ts";
import type { MayMove } from "../proofs.ts";

export interface RunEvent {
  readonly id?: string;
  readonly run: { readonly id: string; readonly organizationId: string };
  /** `created`, `queued`, `planning`, … */
  readonly action: string;
  /** A sentence, where the word alone does not tell. */
  readonly description?: string | null;
  readonly commentId?: string | null;
}

export async function recordRunEvent(tx: Tx, by: MayMove, actor: Actor, event: RunEvent): Promise<void> {
  await recordRunEvents(tx, by, actor, [event]);
}

/** Many at once, of one or several runs, in one statement. */
export async function recordRunEvents(tx: Tx, _by: MayMove, actor: Actor, events: readonly RunEvent[]): Promise<void> {
  if (events.length === 0) return;
  const createdAt = now();
  const counted = new Map<string, number>();
  const rows = events.map(({ id, run, action, description = null, commentId = null }) => {
    const count = (counted.get(run.id) ?? 0) + 1;
    counted.set(run.id, count);
    return {
      id: id ?? newId("run-events"),
      organizationId: run.organizationId,
      runId: run.id,
      position: sql<number>`(
        select coalesce(max(earlier.position), 0) from run_events as earlier where earlier.run_id = ${run.id}
        ) + cast(${count} as bigint)`,
      action,
      description,
      actorKind: actor.kind,
      actorId: actorId(actor),
      actorName: actorName(actor),
      commentId,
      createdAt,
    };
  });
  await tx.db.insertInto("runEvents").values(rows).execute();
}
