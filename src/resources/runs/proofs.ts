/** Whom the functions ask for that change runs and what belongs to them. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

/** A step of the life cycle of runs; only `RunTransaction` issues it. */
export type RunTransition = Capability<"run-transition">;

/** A workspace or a run that was granted, or that a job or an agent's claim may move. */
export type RunMover = Granted<
  object,
  | "can-queue-run"
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
  | "job"
  | "claim"
>;
