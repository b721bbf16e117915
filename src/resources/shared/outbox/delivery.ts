/** Delivers notifications. Slots per destination and for retries are limited, so that a dead endpoint delays only its own. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Tx } from "../../../database/database.ts";
import { now, nowMs } from "../../../kernel/time.ts";
import type { Context } from "../context.ts";
import { deliveryAttempts } from "../process-events.ts";
import { deliveryBackoffMs } from "../backoff.ts";
import { deleteFinished, deleteNotification, findDue, lockOrganization, nextDueInMs, recordAttempt } from "./store.ts";
import type { PendingNotification } from "./store.ts";
import type { JobContext } from "../job-context.ts";

export type { PendingNotification };

export interface DeliveryResponse {
  /** A string, as clients expect; empty without a response. */
  readonly code: string;
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
export type DeliveryResult = DeliveryResponse | "gone";

export interface NotificationSender {
  /** Runs outside of any transaction. Must not raise expected errors. */
  deliver(context: Context, notification: PendingNotification): Promise<DeliveryResult>;
  /** Runs in the transaction that stores the result, before the notification is updated. */
  onAttempt?(
    tx: Tx,
    by: JobContext["capability"],
    notification: PendingNotification,
    response: DeliveryResponse,
  ): Promise<void>;
}

export type NotificationSenders = Readonly<Record<string, NotificationSender>>;

export interface DeliveryLimits {
  readonly concurrencyMax: number;
  readonly perDestinationMax: number;
  readonly tickMs: number;
  /** The job waits this long for a retry instead of ending. */
  readonly lingerMs: number;
}

const defaultLimits: DeliveryLimits = { concurrencyMax: 32, perDestinationMax: 4, tickMs: 250, lingerMs: 15_000 };

const retentionMs = 30 * 24 * 3_600_000;
const batch = 500;

export async function deliverNotifications(
  job: JobContext,
  senders: NotificationSenders,
  limits: DeliveryLimits = defaultLimits,
): Promise<number> {
  const before = new Date(nowMs() - retentionMs).toISOString();
  while (!job.signal.aborted && (await job.step((tx) => deleteFinished(tx, job.capability, before, batch))) === batch);
  return new DeliveryLoop(job, senders, limits).run();
}

interface InFlightDelivery {
  readonly destination: string;
  readonly isRetry: boolean;
  readonly done: Promise<void>;
}

class DeliveryLoop {
  readonly #job: JobContext;
  readonly #senders: NotificationSenders;
  readonly #limits: DeliveryLimits;
  readonly #inFlight = new Map<string, InFlightDelivery>();
  #attempts = 0;
  /** Set if a result could not be stored: continuing would repeat the attempt immediately. */
  #fault: unknown;

  constructor(job: JobContext, senders: NotificationSenders, limits: DeliveryLimits) {
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
    const { concurrencyMax } = this.#limits;
    for (let started = 1; started > 0 && this.#inFlight.size < concurrencyMax;) {
      const due = await findDue(this.#job.context.database.reader, {
        ids: [...this.#inFlight.keys()],
        destinations: this.#fullDestinations(),
        isFresh: this.#retries() >= concurrencyMax / 2,
        limit: concurrencyMax - this.#inFlight.size,
      });
      started = 0;
      for (const notification of due) if (this.#start(notification)) started += 1;
    }
  }

  #start(notification: PendingNotification): boolean {
    const { concurrencyMax, perDestinationMax } = this.#limits;
    const isRetry = notification.attempts > 0;
    if (this.#inFlightTo(notification.destination) >= perDestinationMax) return false;
    if (isRetry && this.#retries() >= concurrencyMax / 2) return false;
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

  async #linger(): Promise<boolean> {
    const { context, signal } = this.#job;
    const inMs = await nextDueInMs(context.database.reader);
    if (inMs === undefined || inMs > this.#limits.lingerMs) return false;
    await sleep(Math.min(Math.max(inMs, 1), this.#limits.tickMs), undefined, { signal }).catch(() => {});
    return true;
  }

  async #attempt(notification: PendingNotification): Promise<void> {
    const { capability, step } = this.#job;
    const result = await this.#deliver(notification);
    this.#attempts += 1;
    if (result === "gone") return step((tx) => deleteNotification(tx, capability, notification));
    const isDelivered = result.successful === "true";
    const pauseMs = isDelivered ? undefined : deliveryBackoffMs(notification.attempts + 1);
    const state = isDelivered ? "delivered" : pauseMs === undefined ? "failed" : "waiting";
    await step(async (tx) => {
      if (!(await lockOrganization(tx, notification))) return;
      await this.#senders[notification.kind]?.onAttempt?.(tx, capability, notification, result);
      await recordAttempt(tx, capability, notification, {
        state,
        response: JSON.stringify(result),
        inMs: pauseMs ?? 0,
        finishedAt: state === "waiting" ? null : now(),
      });
    });
    deliveryAttempts.publish({ kind: notification.kind, result: state === "waiting" ? "retried" : state });
  }

  async #deliver(notification: PendingNotification): Promise<DeliveryResult> {
    const sender = this.#senders[notification.kind];
    const sentAt = now();
    try {
      return sender === undefined ? "gone" : await sender.deliver(this.#job.context, notification);
    } catch {
      // An internal error must not block other notifications.
      return failedResponse("The server failed to send this notification because of an internal error.", sentAt);
    }
  }
}

export const failedResponse = (sentence: string, sentAt: string): DeliveryResponse => ({
  code: "",
  body: sentence,
  headers: {},
  "sent-at": sentAt,
  successful: "false",
});
