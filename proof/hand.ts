/** One who makes things, changes them and takes them away again, each thing alone: so it is known what must be there. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "./client.ts";
import { keyOfSpot, type Spot, together } from "./kept.ts";
import type { Asking, Stage } from "./stage.ts";
import type { Place, World } from "./world.ts";

/** A request that changes something. */
export interface Change extends Pick<Asking, "method" | "path" | "body" | "raw"> {
  readonly kind: string;
  readonly done: number;
  /** Where there may be as many already as there can be. */
  readonly declined?: readonly number[];
}

/** From its beginning to its end; breaks off where something is not answered as it was asked for, and leaves the thing as it is. */
export type Life = (hand: Hand) => Promise<void>;

/** Raised by a hand to leave a life. */
class Abandoned extends Error {}

export class Hand {
  readonly #world: World;
  /** What is there from the beginning, and stays. */
  readonly place: Place;
  readonly organization: string;
  readonly #stage: Stage;
  readonly #trade: string;
  readonly #pauseMs: number;

  constructor(stage: Stage, world: World, place: Place, trade: string, pauseMs: number) {
    this.#stage = stage;
    this.#world = world;
    this.place = place;
    this.organization = `/organizations/${world.organization}`;
    this.#trade = trade;
    this.#pauseMs = pauseMs;
  }

  name(what: string): string {
    return this.#world.name(what);
  }

  /** Asks for a change after which the things at the spot show these words, and gives the document of the answer. */
  async write(spot: Spot, words: readonly string[], { kind, done, declined = [], ...request }: Change): Promise<Json> {
    const { outcome, document } = await this.#stage.ask({
      ...request,
      proof: "kept",
      key: keyOfSpot(spot),
      kind,
      by: this.#trade,
      token: this.#world.adminToken,
      isWrite: true,
      value: together(words),
      expected: { done, declined },
    });
    await sleep(this.#pauseMs * (0.5 + Math.random()));
    if (outcome !== "done") throw new Abandoned(this.#trade);
    return document?.data;
  }

  make(spot: Spot, words: readonly string[], path: string, body: object, done = 201): Promise<Json> {
    return this.write(spot, words, { kind: "create", method: "POST", path, body, done });
  }

  /** Of what a place may have no more than some. */
  makeOneOfFew(spot: Spot, words: readonly string[], path: string, body: object): Promise<Json> {
    return this.write(spot, words, { kind: "create", method: "POST", path, body, done: 201, declined: [422] });
  }

  change(spot: Spot, words: readonly string[], path: string, body: object): Promise<Json> {
    return this.write(spot, words, { kind: "update", method: "PATCH", path, body, done: 200 });
  }

  remove(spot: Spot, words: readonly string[], path: string): Promise<Json> {
    return this.write(spot, words, { kind: "delete", method: "DELETE", path, done: 204 });
  }

  async live(life: Life): Promise<void> {
    try {
      await life(this);
    } catch (error) {
      if (!(error instanceof Abandoned)) throw error;
    }
  }
}
