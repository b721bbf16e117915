/** The messages between an agent and the process of a job. */
import type { Mounts, SandboxKind } from "../sandbox/launch.ts";
import type { JobSignal } from "./client.ts";
import type { ClaimedJobDocument } from "./job.ts";
import type { AgentSettings } from "./settings.ts";

/** Only the job's process reads the rest of the document. */
export type ClaimedJob = Pick<ClaimedJobDocument, "id" | "attempt" | "runId" | "phase">;

export interface SlotSetup {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly sandbox: SandboxKind;
  readonly uids: readonly number[];
  readonly cgroup: string | undefined;
  readonly mounts: Omit<Mounts, "job" | "engine">;
  /** For states that the server no longer accepts. */
  readonly lost: string;
}

/** The first message: run the job on standard input, or clean up after the job in `clears`. */
export interface JobInstruction {
  readonly setup: SlotSetup;
  readonly clears: ClaimedJob | undefined;
}

export interface JobProcessInput {
  readonly order?: JobInstruction;
  readonly signal?: JobSignal | "shutdown";
  readonly lost?: string;
}

/** An empty message is a sign of life. */
export interface JobProcessOutput {
  readonly claimed?: ClaimedJob;
  readonly line?: string;
}

export const aliveIntervalMs = 1000;
