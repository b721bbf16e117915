/** What an agent and the process of one of its jobs say to each other: plain data, which goes through a pipe. */
import type { Mounts, SandboxKind } from "../sandbox/launch.ts";
import type { Signal } from "./client.ts";
import type { Job } from "./job.ts";
import type { AgentSettings } from "./settings.ts";

/** All that an agent has to know of a job; the rest of it is for the job's process alone. */
export type ClaimedJob = Pick<Job, "id" | "attempt" | "runId" | "phase">;

/** Where, and in what, a slot executes jobs. */
export interface SlotSetup {
  readonly slot: number;
  readonly settings: AgentSettings;
  readonly sandbox: SandboxKind;
  readonly uids: readonly number[];
  /** The path of the slot's cgroup. */
  readonly cgroup: string | undefined;
  readonly mounts: Omit<Mounts, "job" | "engine">;
  /** Where states are kept that the server no longer accepts. */
  readonly lost: string;
}

/** The first message to a job's process: execute the job that comes by the standard input, or clear away what its process left. */
export interface JobOrder {
  readonly setup: SlotSetup;
  readonly clears: ClaimedJob | undefined;
}

export interface ToJobProcess {
  readonly order?: JobOrder;
  readonly signal?: Signal | "shutdown";
  /** Why the job is no longer this agent's. */
  readonly lost?: string;
}

/** An empty message only says that the process is not stuck. */
export interface FromJobProcess {
  readonly claimed?: ClaimedJob;
  readonly line?: string;
}

/** How often a job's process says that it is not stuck. */
export const aliveMs = 1000;
