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
