/** The capabilities and grants that functions require to change runs and their parts. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

/** Permits a transition of the state machine; only `RunTransaction` issues it. */
export type RunTransition = Capability<"run-transition">;

/** A grant on a workspace or run that permits a transition: a permission, a job's capability or an agent's claim. */
export type RunTransitionGrant = Granted<
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
