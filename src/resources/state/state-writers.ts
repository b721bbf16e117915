/** The permissions and capabilities that changes of state versions require. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

export type UploadingCaller = Granted<object, "can-create-state-versions" | "can-upload">;

export type StateWriter = UploadingCaller | Capability<"job">;

export type StateRemover = Granted<object, "can-update"> | Capability<"job">;

/** For a newer upload, a force-unlock, an expired lease or the end of a run. */
export type StateDiscarder = UploadingCaller | Granted<object, "can-force-unlock" | "lease-ended" | "run-transition">;
