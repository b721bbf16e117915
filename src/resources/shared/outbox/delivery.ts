/**
 * The delivery job: many deliveries in parallel, but few to each destination, and at most half of the slots for retries, so that a
 * dead or slow endpoint delays only its own notifications. The result of an attempt is stored after it; if the server dies in
 * between, the attempt is repeated under the same id.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Tx } from "../../../database/database.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";
import { tellAttempt } from "../measures.ts";
import { pauseAfter } from "../backoff.ts";
import { deleteFinished, deleteNotice, findDue, holdOrganization, nextDueInMs, settleNotice } from "./store.ts";
import type { Waiting } from "./store.ts";
import type { JobWork } from "../job-work.ts";

export type { Waiting };

export interface DeliveryResponse {
  /** A string, as clients expect; empty without a response. */
  readonly code: string;
  /** Truncated; an error message without a response. */
  readonly body: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly "sent-at": string;
  readonly successful: "true" | "false";
}

export const verificationEvent = "verification";

export interface Verification {
  readonly id: string;
  readonly response: DeliveryResponse;
}

/** `gone`: the receiver was deleted. */
export type Outcome = DeliveryResponse | "gone";

export interface Courier {
  /** Runs outside of any transaction. Does not raise expected errors. */
  deliver(context: Context, notification: Waiting): Promise<Outcome>;
  /** Runs in the transaction that stores the result, before the notification itself is updated. */
  noted?(tx: Tx, by: JobWork["capability"], notification: Waiting, response: DeliveryResponse): Promise<void>;
}

export type Couriers = Readonly<Record<string, Courier>>;

export interface Pace {
  /** Parallel deliveries, in total and to one destination. */
  readonly placesMax: number;
  readonly perDestinationMax: number;
  /** How often to look for more while deliveries are in progress. */
  readonly tickMs: number;
  /** How long to wait for a retry that is due soon, instead of ending the job. */
  readonly lingerMs: number;
}

const defaultLimits: Pace = { placesMax: 32, perDestinationMax: 4, tickMs: 250, lingerMs: 15_000 };

const retentionMs = 30 * 24 * 3_600_000;
const batch = 500;

export async function deliverNotices(job: JobWork, senders: Couriers, limits: Pace = defaultLimits): Promise<number> {
  const before = new Date(nowMs() - retentionMs).toISOString();
  while (!job.signal.aborted && (await job.step((tx) => deleteFinished(tx, job.capability, before, batch))) === batch);
  return new Deliveries(job, senders, limits).run();
}

interface Flight {
  readonly destination: string;
  readonly isRetry: boolean;
  readonly done: Promise<void>;
}

class Deliveries {
  readonly #job: JobWork;
  readonly #senders: Couriers;
  readonly #limits: Pace;
  readonly #inFlight = new Map<string, Flight>();
  #attempts = 0;
  /** The result of an attempt could not be stored: going on would repeat the attempt immediately. */
  #fault: unknown;

  constructor(job: JobWork, senders: Couriers, limits: Pace) {
    this.#job = job;
    this.#senders = senders;
    this.#limits = limits;
  }

  async run(): Promise<number> {
    const { signal } = this.#job;
    while (!signal.aborted) {
      await this.#startDue();
      if (this.#inFlight.size > 0) await this.#waitForAny();
      else if (!(await this.#linger())) break;
      if (this.#fault !== undefined && !signal.aborted) throw this.#fault;
    }
    return this.#attempts;
  }

  async #startDue(): Promise<void> {
    const { placesMax } = this.#limits;
    for (let started = 1; started > 0 && this.#inFlight.size < placesMax;) {
      const due = await findDue(this.#job.context.database.reader, {
        ids: [...this.#inFlight.keys()],
        destinations: this.#fullDestinations(),
        isFresh: this.#retries() >= placesMax / 2,
        limit: placesMax - this.#inFlight.size,
      });
      started = 0;
      for (const notification of due) if (this.#start(notification)) started += 1;
    }
  }

  #start(notification: Waiting): boolean {
    const { placesMax, perDestinationMax } = this.#limits;
    const isRetry = notification.attempts > 0;
    if (this.#inFlightTo(notification.destination) >= perDestinationMax) return false;
    if (isRetry && this.#retries() >= placesMax / 2) return false;
    const done = this.#attempt(notification)
      .catch((error: unknown) => {
        this.#fault ??= error;
      })
      .finally(() => this.#inFlight.delete(notification.id));
    this.#inFlight.set(notification.id, { destination: notification.destination, isRetry, done });
    return true;
  }

  readonly #inFlightTo = (destination: string): number =>
    [...this.#inFlight.values()].filter((delivery) => delivery.destination === destination).length;
  readonly #retries = (): number => [...this.#inFlight.values()].filter(({ isRetry }) => isRetry).length;
  readonly #fullDestinations = (): string[] =>
    [...new Set([...this.#inFlight.values()].map(({ destination }) => destination))].filter(
      (destination) => this.#inFlightTo(destination) >= this.#limits.perDestinationMax,
    );

  async #waitForAny(): Promise<void> {
    const deliveries = [...this.#inFlight.values()].map(({ done }) => done);
    const tick = new AbortController();
    const ticked = sleep(this.#limits.tickMs, undefined, { signal: tick.signal }).catch(() => {});
    await Promise.race([...deliveries, ticked]);
    tick.abort();
  }

  /** Waits for a retry that is due soon; false if there is none. */
  async #linger(): Promise<boolean> {
    const { context, signal } = this.#job;
    const inMs = await nextDueInMs(context.database.reader);
    if (inMs === undefined || inMs > this.#limits.lingerMs) return false;
    await sleep(Math.min(Math.max(inMs, 1), this.#limits.tickMs), undefined, { signal }).catch(() => {});
    return true;
  }

  async #attempt(notification: Waiting): Promise<void> {
    const { capability, step } = this.#job;
    const result = await this.#deliver(notification);
    this.#attempts += 1;
    if (result === "gone") return step((tx) => deleteNotice(tx, capability, notification));
    const isDelivered = result.successful === "true";
    const pauseMs = isDelivered ? undefined : pauseAfter(notification.attempts + 1);
    const state = isDelivered ? "delivered" : pauseMs === undefined ? "failed" : "waiting";
    await step(async (tx) => {
      if (!(await holdOrganization(tx, notification))) return;
      await this.#senders[notification.kind]?.noted?.(tx, capability, notification, result);
      await settleNotice(tx, capability, notification, {
        state,
        response: JSON.stringify(result),
        inMs: pauseMs ?? 0,
        finishedAt: state === "waiting" ? null : now(),
      });
    });
    tellAttempt({ kind: notification.kind, result: state === "waiting" ? "retried" : state });
  }

  async #deliver(notification: Waiting): Promise<Outcome> {
    const sender = this.#senders[notification.kind];
    const sentAt = now();
    try {
      return sender === undefined ? "gone" : await sender.deliver(this.#job.context, notification);
    } catch {
      // An internal error must not block other notifications.
      return unanswered("The server failed to send this notification because of an internal error.", sentAt);
    }
  }
}

export const unanswered = (sentence: string, sentAt: string): DeliveryResponse => ({
  code: "",
  body: sentence,
  headers: {},
  "sent-at": sentAt,
  successful: "false",
});
