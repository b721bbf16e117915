/** The capabilities and grants that functions require to change runs and their phases. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

/** Only `TransitionRecorder` issues it. */
export type RunTransition = Capability<"run-transition">;

export type RunTransitionProof = Granted<
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
