/** The messages between an agent and the process of one of its jobs. */
import type { Mounts, SandboxKind } from "../sandbox/launch.ts";
import type { JobSignal } from "./client.ts";
import type { ClaimedJobDocument } from "./job.ts";
import type { AgentSettings } from "./settings.ts";

/** What the agent knows of a job; only the job's process reads the rest. */
export type ClaimedJob = Pick<ClaimedJobDocument, "id" | "attempt" | "runId" | "phase">;

export interface SlotSetup {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly sandbox: SandboxKind;
  readonly uids: readonly number[];
  /** The path of the slot's cgroup. */
  readonly cgroup: string | undefined;
  readonly mounts: Omit<Mounts, "job" | "engine">;
  /** Directory for states that the server no longer accepts. */
  readonly lost: string;
}

/** The first message to a job's process: run the job on standard input, or clean up after the job in `clears`. */
export interface JobInstruction {
  readonly setup: SlotSetup;
  readonly clears: ClaimedJob | undefined;
}

export interface JobProcessInput {
  readonly order?: JobInstruction;
  readonly signal?: JobSignal | "shutdown";
  /** Why the agent lost the job. */
  readonly lost?: string;
}

/** An empty message is a sign of life. */
export interface JobProcessOutput {
  readonly claimed?: ClaimedJob;
  readonly line?: string;
}

/** Interval of the signs of life. */
export const aliveIntervalMs = 1000;
