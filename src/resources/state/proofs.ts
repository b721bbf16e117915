/** Whom the functions ask for that write what belongs to state versions. */
import type { Granted } from "../../access/granted.ts";

/** Whoever brings a state: with its version, or by a signed URL for its content. */
export type StateArrival = Granted<object, "can-create-state-versions" | "can-upload">;

/** What nobody asked for is done by a job, under its lease. */
type Job = "a job";

/** Whoever may write what a state holds. */
export type StateWriter = StateArrival | Job;

/** Whoever may remove what a state holds. */
export type StateRemover = Granted<object, "can-update"> | Job;

/** Whoever may give up states that are awaited: by a newer one, by releasing their lock by force, or by the end of its lease or of their run. */
export type StateDiscarder = StateArrival | Granted<object, "can-force-unlock" | "lease-ended" | "can-move-run">;
