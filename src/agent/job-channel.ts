/** The messages between an agent and the process of a job. */
import type { MountPaths, SandboxKind } from "../sandbox/launch.ts";
import type { JobSignal } from "./client.ts";
import type { JobDocument } from "./job.ts";
import type { EngineName } from "./products.ts";
import type { AgentSettings } from "./settings.ts";

export interface UnavailableEngine extends EngineName {
  readonly reason: string;
}

/** Only the job's process reads the rest of the document. */
export type ClaimedJob = Pick<JobDocument, "id" | "attempt" | "runId" | "phase">;

export interface SlotSetup {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly sandbox: SandboxKind;
  readonly uids: readonly number[];
  readonly cgroup: string | undefined;
  readonly mounts: Omit<MountPaths, "job" | "engine">;
  /** For states that the server no longer accepts. */
  readonly lostStatesDirectory: string;
}

/** The first message: run the job on standard input, or clean up after a job. */
export interface JobInstruction {
  readonly setup: SlotSetup;
  readonly cleanUpAfter: ClaimedJob | undefined;
}

export interface JobProcessInput {
  readonly instruction?: JobInstruction;
  readonly signal?: JobSignal | "shutdown";
  /** Why the job is lost. */
  readonly lostReason?: string;
}

/** An empty message shows that the process is alive. */
export interface JobProcessOutput {
  readonly claimed?: ClaimedJob;
  readonly line?: string;
  /** The job needs an engine that can't be fetched. */
  readonly unavailable?: UnavailableEngine;
}

export const aliveIntervalMs = 1000;
