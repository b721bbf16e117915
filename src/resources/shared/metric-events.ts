/** Publishes events for the metrics, after the transaction and without waiting for subscribers. */
import { channel } from "node:diagnostics_channel";

export interface EndedPhase {
  readonly phase: string;
  /** As in its document; `lost` if the agent stopped responding. */
  readonly result: string;
  readonly seconds: number;
}

const phases = channel("cadastre.phase-ended");

export const publishEndedPhase = (phase: EndedPhase): void => phases.publish(phase);

export function onEndedPhase(listen: (phase: EndedPhase) => void): () => void {
  const listener = (message: unknown) => listen(message as EndedPhase);
  phases.subscribe(listener);
  return () => phases.unsubscribe(listener);
}

/** `result`: on arrival `stored`, `repeated`, `unknown` or `refused`; after processing `started`, `ignored` or `failed`. */
export interface VcsEventMeasurement {
  readonly provider: string;
  readonly result: string;
}

const vcsEvents = channel("cadastre.vcs-event");

export const publishVcsEvent = (event: VcsEventMeasurement): void => vcsEvents.publish(event);

export function onVcsEvent(listen: (event: VcsEventMeasurement) => void): () => void {
  const listener = (message: unknown) => listen(message as VcsEventMeasurement);
  vcsEvents.subscribe(listener);
  return () => vcsEvents.unsubscribe(listener);
}

export interface DeliveryAttempt {
  readonly kind: string;
  readonly result: "delivered" | "retried" | "failed";
}

const attempts = channel("cadastre.delivery-attempted");

export const publishDeliveryAttempt = (attempt: DeliveryAttempt): void => attempts.publish(attempt);

export function onDeliveryAttempt(listen: (attempt: DeliveryAttempt) => void): () => void {
  const listener = (message: unknown) => listen(message as DeliveryAttempt);
  attempts.subscribe(listener);
  return () => attempts.unsubscribe(listener);
}

export interface ContentRequest {
  readonly operation: "put" | "get" | "delete" | "list";
  readonly result: "ok" | "refused" | "unavailable" | "missing";
  readonly seconds: number;
}

const contentRequests = channel("cadastre.content-request");

export const publishContentRequest = (request: ContentRequest): void => contentRequests.publish(request);

export function onContentRequest(listen: (request: ContentRequest) => void): () => void {
  const listener = (message: unknown) => listen(message as ContentRequest);
  contentRequests.subscribe(listener);
  return () => contentRequests.unsubscribe(listener);
}
