/** Whom the functions ask for that write what belongs to configuration versions. */
import type { Granted } from "../../../access/granted.ts";

/** Whoever may queue runs announces one or archives one; a signed URL brings its archive; version control does all of it by itself. */
export type Arrival = Granted<object, "can-queue-run" | "can-upload"> | "version control" | Job;

/** What nobody asked for is done by a job, under its lease. */
type Job = "a job";
