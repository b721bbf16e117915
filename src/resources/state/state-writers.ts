/** The permissions and capabilities that changes of state versions require. */
import type { Capability } from "../../access/capability.ts";
import type { Granted } from "../../access/granted.ts";

/** Uploads a state: in the request that creates its version, or to a signed URL. */
export type UploadingCaller = Granted<object, "can-create-state-versions" | "can-upload">;

/** Writes the outputs and resources of a state. */
export type StateWriter = UploadingCaller | Capability<"job">;

/** Removes the outputs and resources of a state. */
export type StateRemover = Granted<object, "can-update"> | Capability<"job">;

/** Discards pending state versions: a newer upload, a force-unlock, an expired lease or the end of a run. */
export type StateDiscarder = UploadingCaller | Granted<object, "can-force-unlock" | "lease-ended" | "run-transition">;
