/**
 * The work of the job that delivers. Many at once, but few to each destination, and no more than half of the places for what has
 * failed before: an endpoint that is dead or slow holds up nothing but what goes to it. What came of an attempt is written down
 * after it; a server that dies in between has it made once more, under the same id.
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

/** What an attempt was answered with, as documents show it. */
export interface DeliveryResponse {
  /** As clients expect it: text, and empty where nobody answered. */
  readonly code: string;
  /** The beginning of it; a sentence where nobody answered. */
  readonly body: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly "sent-at": string;
  readonly successful: "true" | "false";
}

/** What is told to somebody who is asked whether they listen. */
export const verificationEvent = "verification";

/** Somebody who was asked, and listens. */
export interface Verification {
  /** Of the delivery, as the receiver was sent it. */
  readonly id: string;
  readonly response: DeliveryResponse;
}

/** `gone`: nobody is left who could be told. */
export type Outcome = DeliveryResponse | "gone";

/** Who brings notices of one kind to where they go. */
export interface Courier {
  /** Outside of any transaction. Raises nothing that can be expected. */
  deliver(context: Context, notice: Waiting): Promise<Outcome>;
  /** In the transaction that notes what came of it, before the notice itself is changed. */
  noted?(tx: Tx, by: JobWork["capability"], notice: Waiting, response: DeliveryResponse): Promise<void>;
}

export type Couriers = Readonly<Record<string, Courier>>;

export interface Pace {
  /** How many are delivered at once, in all and to one destination. */
  readonly placesMax: number;
  readonly perDestinationMax: number;
  /** How often it is looked for more while some are under way. */
  readonly tickMs: number;
  /** How long it waits for what may be tried again soon, instead of ending. */
  readonly lingerMs: number;
}

const paceByDefault: Pace = { placesMax: 32, perDestinationMax: 4, tickMs: 250, lingerMs: 15_000 };

/** For how long what was delivered, or could not be, is told. */
const keptMs = 30 * 24 * 3_600_000;
const batch = 500;

/** Gives how many attempts were made. */
export async function deliverNotices(work: JobWork, couriers: Couriers, pace: Pace = paceByDefault): Promise<number> {
  const before = new Date(nowMs() - keptMs).toISOString();
  while (
    !work.signal.aborted &&
    (await work.step((tx) => deleteFinished(tx, work.capability, before, batch))) === batch
  );
  return new Deliveries(work, couriers, pace).run();
}

interface Flight {
  readonly destination: string;
  readonly isRetry: boolean;
  readonly done: Promise<void>;
}

class Deliveries {
  readonly #work: JobWork;
  readonly #couriers: Couriers;
  readonly #pace: Pace;
  readonly #flights = new Map<string, Flight>();
  #attempts = 0;
  /** What came of an attempt could not be written down: whoever goes on would make it again at once. */
  #fault: unknown;

  constructor(work: JobWork, couriers: Couriers, pace: Pace) {
    this.#work = work;
    this.#couriers = couriers;
    this.#pace = pace;
  }

  async run(): Promise<number> {
    const { signal } = this.#work;
    while (!signal.aborted) {
      await this.#fill();
      if (this.#flights.size > 0) await this.#something();
      else if (!(await this.#linger())) break;
      if (this.#fault !== undefined && !signal.aborted) throw this.#fault;
    }
    return this.#attempts;
  }

  /** Until all places are taken, or nothing is due that may be begun. */
  async #fill(): Promise<void> {
    const { placesMax } = this.#pace;
    for (let begun = 1; begun > 0 && this.#flights.size < placesMax;) {
      const due = await findDue(this.#work.context.database.reader, {
        ids: [...this.#flights.keys()],
        destinations: this.#full(),
        isFresh: this.#retries() >= placesMax / 2,
        limit: placesMax - this.#flights.size,
      });
      begun = 0;
      for (const notice of due) if (this.#begin(notice)) begun += 1;
    }
  }

  #begin(notice: Waiting): boolean {
    const { placesMax, perDestinationMax } = this.#pace;
    const isRetry = notice.attempts > 0;
    if (this.#flyingTo(notice.destination) >= perDestinationMax) return false;
    if (isRetry && this.#retries() >= placesMax / 2) return false;
    const done = this.#attempt(notice)
      .catch((error: unknown) => {
        this.#fault ??= error;
      })
      .finally(() => this.#flights.delete(notice.id));
    this.#flights.set(notice.id, { destination: notice.destination, isRetry, done });
    return true;
  }

  readonly #flyingTo = (destination: string): number =>
    [...this.#flights.values()].filter((flight) => flight.destination === destination).length;
  readonly #retries = (): number => [...this.#flights.values()].filter(({ isRetry }) => isRetry).length;
  readonly #full = (): string[] =>
    [...new Set([...this.#flights.values()].map(({ destination }) => destination))].filter(
      (destination) => this.#flyingTo(destination) >= this.#pace.perDestinationMax,
    );

  /** Until one has ended, or it is time to look for more. */
  async #something(): Promise<void> {
    const flights = [...this.#flights.values()].map(({ done }) => done);
    const tick = new AbortController();
    const ticked = sleep(this.#pace.tickMs, undefined, { signal: tick.signal }).catch(() => {});
    await Promise.race([...flights, ticked]);
    tick.abort();
  }

  /** Waits for what may be tried soon; false where nothing may. */
  async #linger(): Promise<boolean> {
    const { context, signal } = this.#work;
    const inMs = await nextDueInMs(context.database.reader);
    if (inMs === undefined || inMs > this.#pace.lingerMs) return false;
    await sleep(Math.min(Math.max(inMs, 1), this.#pace.tickMs), undefined, { signal }).catch(() => {});
    return true;
  }

  async #attempt(notice: Waiting): Promise<void> {
    const { capability, step } = this.#work;
    const outcome = await this.#delivered(notice);
    this.#attempts += 1;
    if (outcome === "gone") return step((tx) => deleteNotice(tx, capability, notice));
    const isDelivered = outcome.successful === "true";
    const pauseMs = isDelivered ? undefined : pauseAfter(notice.attempts + 1);
    const state = isDelivered ? "delivered" : pauseMs === undefined ? "failed" : "waiting";
    await step(async (tx) => {
      if (!(await holdOrganization(tx, notice))) return;
      await this.#couriers[notice.kind]?.noted?.(tx, capability, notice, outcome);
      await settleNotice(tx, capability, notice, {
        state,
        response: JSON.stringify(outcome),
        inMs: pauseMs ?? 0,
        finishedAt: state === "waiting" ? null : now(),
      });
    });
    tellAttempt({ kind: notice.kind, result: state === "waiting" ? "retried" : state });
  }

  async #delivered(notice: Waiting): Promise<Outcome> {
    const courier = this.#couriers[notice.kind];
    const sentAt = now();
    try {
      return courier === undefined ? "gone" : await courier.deliver(this.#work.context, notice);
    } catch {
      // A fault of ours must not keep what waits behind it.
      return unanswered("Something failed here that should not.", sentAt);
    }
  }
}

/** The response of somebody who gave none. */
export const unanswered = (sentence: string, sentAt: string): DeliveryResponse => ({
  code: "",
  body: sentence,
  headers: {},
  "sent-at": sentAt,
  successful: "false",
});
