/** What happened that is worth counting, told to whoever counts: after the transaction, and without waiting for anybody. */
import { channel } from "node:diagnostics_channel";

/** A plan or an apply that was executed has ended. */
export interface EndedPhase {
  readonly phase: string;
  /** `finished`, `errored` or `canceled`, as its document says; `lost` where nobody heard of its agent any more. */
  readonly result: string;
  readonly seconds: number;
}

const phases = channel("cadastre.phase-ended");

export const tellEndedPhase = (phase: EndedPhase): void => phases.publish(phase);

/** Gives the function that ends it. */
export function hearEndedPhases(listen: (phase: EndedPhase) => void): () => void {
  const heard = (message: unknown) => listen(message as EndedPhase);
  phases.subscribe(heard);
  return () => phases.unsubscribe(heard);
}

/** A webhook of version control came: `stored`, `repeated`, `unknown` or `refused`; or was worked off: `started`, `ignored`, `failed`. */
export interface CountedVcsEvent {
  readonly provider: string;
  readonly result: string;
}

const vcsEvents = channel("cadastre.vcs-event");

export const tellVcsEvent = (event: CountedVcsEvent): void => vcsEvents.publish(event);

/** Gives the function that ends it. */
export function hearVcsEvents(listen: (event: CountedVcsEvent) => void): () => void {
  const heard = (message: unknown) => listen(message as CountedVcsEvent);
  vcsEvents.subscribe(heard);
  return () => vcsEvents.unsubscribe(heard);
}

/** Somebody was told of something, or could not be told. */
export interface Attempt {
  readonly kind: string;
  /** `delivered`; `retried` where it will be tried again; `failed` where it will not. */
  readonly result: "delivered" | "retried" | "failed";
}

const attempts = channel("cadastre.notice-attempted");

export const tellAttempt = (attempt: Attempt): void => attempts.publish(attempt);

/** Gives the function that ends it. */
export function hearAttempts(listen: (attempt: Attempt) => void): () => void {
  const heard = (message: unknown) => listen(message as Attempt);
  attempts.subscribe(heard);
  return () => attempts.unsubscribe(heard);
}
