/** The events of one stream. It never reads logs faster than the client, and keeps checking that the caller can read the run. */
import { createHash } from "node:crypto";
import type { Actor } from "../../../access/actor.ts";
import { writeResource } from "../../../jsonapi/document.ts";
import { AppError } from "../../../kernel/errors.ts";
import { accessCheckMs, type Context, type StreamLimits } from "../../shared/context.ts";
import { recheckAccess } from "../../identity/authentication-tokens/reads.ts";
import { findPhaseWithLog, readLog } from "../phases/logs.ts";
import { runs } from "../runs/definition.ts";
import { isFinal } from "../runs/state-machine.ts";
import { loadRun } from "../runs/reads.ts";
import type { RunView } from "../runs/view.ts";
import {
  endEvent,
  heartbeat,
  logEvent,
  type RunLogKind,
  runEvent,
  type StreamPosition,
  completeUtf8Length,
} from "./events.ts";
import { feedOf, type RunSubscription } from "./feed.ts";

export const streamLimits: StreamLimits = {
  perCaller: 32,
  perOrganization: 200,
  perServer: 1_000,
  checkMs: accessCheckMs,
  heartbeatMs: 15_000,
  lifetimeMs: 15 * 60_000,
};

/** Per event. JSON escapes can make it six times as long. */
const pieceBytes = 32 * 1024;
/** How soon a stream notices that its client has disconnected or the server stops. */
const wakeMs = 250;
const [stx, etx] = [0x02, 0x03];

const versionOf = (view: RunView): string =>
  createHash("sha256")
    .update(`${writeResource(runs, view)}${view.planStatus} ${view.applyStatus}`)
    .digest("base64url")
    .slice(0, 16);

/** An ended log is not streamed: clients read it from its `log-read-url`. */
export function positionAtOpening(view: RunView): StreamPosition {
  return {
    plan: view.planLogEnded === 1 ? view.planLogBytes : 0,
    apply: view.applyLogEnded === 1 ? view.applyLogBytes : 0,
    version: "",
  };
}

export class RunEventStream {
  readonly #context: Context;
  readonly #limits: StreamLimits;
  readonly #openedAt = performance.now();
  #view: RunView;
  #version: string;
  #checkedAt = performance.now();
  #position: StreamPosition;

  constructor(context: Context, view: RunView, position: StreamPosition, limits: StreamLimits) {
    this.#context = context;
    this.#view = view;
    this.#version = versionOf(view);
    this.#position = position;
    this.#limits = limits;
  }

  async *events(): AsyncGenerator<string> {
    const subscription = feedOf(this.#context.database).follow(this.#view.id);
    let sentAt = performance.now();
    try {
      while (!this.#isOver()) {
        if (this.#isCheckDue(subscription) && !(await this.#recheckAccess()))
          return yield endEvent("access", this.#position);
        const next =
          this.#runChange() ??
          (await this.#logText("plan", subscription)) ??
          (await this.#logText("apply", subscription));
        if (next !== undefined) {
          yield next;
          sentAt = performance.now();
          continue;
        }
        if (isFinal(this.#view.status)) return yield* this.#finalEvents();
        if (performance.now() - sentAt >= this.#limits.heartbeatMs) {
          yield heartbeat;
          sentAt = performance.now();
        }
        await subscription.waitForChange(Math.min(wakeMs, this.#limits.checkMs));
      }
    } catch (error) {
      // The client reconnects and resumes.
      if (!(error instanceof AppError && error.code === "unavailable")) throw error;
    } finally {
      subscription.stop();
    }
  }

  #isOver(): boolean {
    return this.#context.isDisconnected?.() === true || performance.now() - this.#openedAt >= this.#limits.lifetimeMs;
  }

  #isCheckDue(subscription: RunSubscription): boolean {
    const progress = subscription.progress();
    if (progress !== undefined && progress.version > this.#view.version) return true;
    return performance.now() - this.#checkedAt >= this.#limits.checkMs;
  }

  async #recheckAccess(): Promise<boolean> {
    const { database, vault } = this.#context;
    const load = (actor: Actor) => loadRun(database.reader, { vault, actor }, this.#view.id);
    try {
      this.#view = await recheckAccess(this.#context, load);
    } catch (error) {
      if (error instanceof AppError && error.code !== "unavailable") return false;
      throw error;
    }
    this.#version = versionOf(this.#view);
    this.#checkedAt = performance.now();
    return true;
  }

  /** The event for a final status is sent after the logs. */
  #runChange(): string | undefined {
    if (isFinal(this.#view.status) || this.#position.version === this.#version) return undefined;
    return this.#runEvent();
  }

  #runEvent(): string {
    this.#position = { ...this.#position, version: this.#version };
    return runEvent(this.#view.status, this.#position);
  }

  *#finalEvents(): Generator<string> {
    if (this.#position.version !== this.#version) yield this.#runEvent();
    yield endEvent("finished", this.#position);
  }

  async #logText(kind: RunLogKind, subscription: RunSubscription): Promise<string | undefined> {
    const { database } = this.#context;
    const [id, length] =
      kind === "plan" ? [this.#view.planId, this.#view.planLogBytes] : [this.#view.applyId, this.#view.applyLogBytes];
    const logBytes = Math.max(length, subscription.progress()?.[`${kind}LogBytes`] ?? 0);
    const offset = this.#position[kind];
    if (offset >= logBytes) return undefined;
    // The logs of a finished run can be deleted.
    const hasLog = this.#view.endedAt === null || (await findPhaseWithLog(database.reader, id)) !== undefined;
    const bytes = hasLog ? await readLog(this.#context, { id, logBytes }, offset, pieceBytes) : new Uint8Array();
    if (bytes.length === 0) {
      this.#position = { ...this.#position, [kind]: logBytes };
      return undefined;
    }
    const complete = bytes.subarray(0, completeUtf8Length(bytes));
    if (complete.length === 0) return undefined;
    const nextOffset = offset + complete.length;
    this.#position = { ...this.#position, [kind]: nextOffset };
    const isEnd = complete.at(-1) === etx;
    const text = Buffer.from(complete.subarray(complete[0] === stx ? 1 : 0, isEnd ? -1 : undefined)).toString("utf8");
    return logEvent({ kind, offset, nextOffset, text, isEnd }, this.#position);
  }
}
