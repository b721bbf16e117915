/** Whom the functions ask for that change runs and what belongs to them. */
import type { Granted } from "../../access/granted.ts";

/** The proof that a run may be moved on. */
export type Moving = "can-move-run";
export type MayMove = Granted<object, Moving>;

/**
 * Who moves runs: whoever was granted what the step needs; an agent, by the job that it holds; and what happens by itself, such
 * as a turn that has come, a schedule, or another run's end.
 */
export type Mover =
  | Granted<
      object,
      | "can-queue-run"
      | "can-queue-apply"
      | "can-queue-destroy"
      | "can-apply"
      | "can-cancel"
      | "can-comment"
      | "can-discard"
      | "can-force-cancel"
      | "can-force-execute"
      | "can-administer"
      | "can-unlock"
      | "can-force-unlock"
      | "lease-ended"
      | "can-destroy"
      | "can-force-delete"
      | Moving
    >
  | "an agent's job"
  | "by itself";

/** A thing that this mover may move on. */
export function movedBy<Row extends object>(_by: Mover, row: Row): Granted<Row, Moving> {
  return row as Granted<Row, Moving>;
}
