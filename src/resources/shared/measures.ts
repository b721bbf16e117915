/** Publishes events for the metrics, after the transaction and without waiting for subscribers. */
import { channel } from "node:diagnostics_channel";

export interface EndedPhase {
  readonly phase: string;
  /** `finished`, `errored` or `canceled`, as in its document; `lost` if the agent stopped responding. */
  readonly result: string;
  readonly seconds: number;
}

const phases = channel("cadastre.phase-ended");

export const tellEndedPhase = (phase: EndedPhase): void => phases.publish(phase);

/** Returns the function that unsubscribes. */
export function hearEndedPhases(listen: (phase: EndedPhase) => void): () => void {
  const heard = (message: unknown) => listen(message as EndedPhase);
  phases.subscribe(heard);
  return () => phases.unsubscribe(heard);
}

/** A version control webhook arrived (`stored`, `repeated`, `unknown` or `refused`) or was processed (`started`, `ignored` or `failed`). */
export interface CountedVcsEvent {
  readonly provider: string;
  readonly result: string;
}

const vcsEvents = channel("cadastre.vcs-event");

export const tellVcsEvent = (event: CountedVcsEvent): void => vcsEvents.publish(event);

export function hearVcsEvents(listen: (event: CountedVcsEvent) => void): () => void {
  const heard = (message: unknown) => listen(message as CountedVcsEvent);
  vcsEvents.subscribe(heard);
  return () => vcsEvents.unsubscribe(heard);
}

export interface Attempt {
  readonly kind: string;
  /** `retried`: another attempt will follow; `failed`: none will. */
  readonly result: "delivered" | "retried" | "failed";
}

const attempts = channel("cadastre.notice-attempted");

export const tellAttempt = (attempt: Attempt): void => attempts.publish(attempt);

export function hearAttempts(listen: (attempt: Attempt) => void): () => void {
  const heard = (message: unknown) => listen(message as Attempt);
  attempts.subscribe(heard);
  return () => attempts.unsubscribe(heard);
}
