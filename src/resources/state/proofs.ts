/** Whom the functions ask for that write what belongs to state versions. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

/** Whoever brings a state: with its version, or by a signed URL for its content. */
export type StateArrival = Granted<object, "can-create-state-versions" | "can-upload">;

/** Whoever may write what a state holds. */
export type StateWriter = StateArrival | Capability<"job">;

/** Whoever may remove what a state holds. */
export type StateRemover = Granted<object, "can-update"> | Capability<"job">;

/** Whoever may give up states that are awaited: by a newer one, by releasing their lock by force, or by the end of its lease or of their run. */
export type StateDiscarder = StateArrival | Granted<object, "can-force-unlock" | "lease-ended" | "run-transition">;
