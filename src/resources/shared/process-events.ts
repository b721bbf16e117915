/** Events for the metrics and the log, published after the transaction and without waiting for subscribers. */
import { channel } from "node:diagnostics_channel";

function eventChannel<Event extends object>(name: string) {
  const subscribers = channel(`cadastre.${name}`);
  return {
    publish: (event: Event): void => subscribers.publish(event),
    /** Returns a function that ends the subscription. */
    subscribe(listen: (event: Event) => void): () => void {
      const listener = (event: unknown) => listen(event as Event);
      subscribers.subscribe(listener);
      return () => subscribers.unsubscribe(listener);
    },
  };
}

interface EndedPhase {
  readonly phase: string;
  /** As in its document; `lost` if the agent stopped responding. */
  readonly result: string;
  readonly seconds: number;
}

/** `result`: on arrival `stored`, `repeated`, `unknown` or `refused`; after processing `started`, `ignored` or `failed`. */
interface VcsEventMeasurement {
  readonly provider: string;
  readonly result: string;
}

interface DeliveryAttempt {
  readonly kind: string;
  readonly result: "delivered" | "retried" | "failed";
}

interface ContentRequest {
  readonly operation: "put" | "get" | "delete" | "list";
  readonly result: "ok" | "refused" | "unavailable" | "missing";
  readonly seconds: number;
}

/** An access rule that could not be evaluated, and therefore counts as matching. Published once for each version of a rule and error. */
interface FailedRule {
  readonly rule: string;
  readonly name: string;
  readonly error: string;
}

export const endedPhases = eventChannel<EndedPhase>("phase-ended");
export const vcsEventMeasurements = eventChannel<VcsEventMeasurement>("vcs-event");
export const deliveryAttempts = eventChannel<DeliveryAttempt>("delivery-attempted");
export const contentRequests = eventChannel<ContentRequest>("content-request");
export const failedRules = eventChannel<FailedRule>("access-rule-failed");
