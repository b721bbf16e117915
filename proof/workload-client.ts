/** The client of a workload: only it changes its resources, so their final state is known. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "./client.ts";
import { keyOfView, type ResourceView, joinValues } from "./final-state.ts";
import type { ProofRequest, Stage } from "./stage.ts";
import type { WorkloadFixtures, World } from "./world.ts";

/** A request that changes something. */
export interface Change extends Pick<ProofRequest, "method" | "path" | "body" | "raw"> {
  readonly kind: string;
  readonly done: number;
  /** Statuses that mean that a limit was reached. */
  readonly declined?: readonly number[];
}

/** One pass of a workload. It stops at the first request that isn't acknowledged, and leaves the resource as it is. */
export type Workload = (client: WorkloadClient) => Promise<void>;

/** Thrown to leave a pass. */
class Abandoned extends Error {}

export class WorkloadClient {
  readonly #world: World;
  /** Resources that exist during the whole proof. */
  readonly fixtures: WorkloadFixtures;
  readonly organization: string;
  readonly #stage: Stage;
  readonly #workload: string;
  readonly #pauseMs: number;

  constructor(stage: Stage, world: World, place: WorkloadFixtures, workload: string, pauseMs: number) {
    this.#stage = stage;
    this.#world = world;
    this.fixtures = place;
    this.organization = `/organizations/${world.organization}`;
    this.#workload = workload;
    this.#pauseMs = pauseMs;
  }

  name(what: string): string {
    return this.#world.name(what);
  }

  /** Sends a change after which the view must show these words. Returns the response's document. */
  async write(
    view: ResourceView,
    words: readonly string[],
    { kind, done, declined = [], ...request }: Change,
  ): Promise<Json> {
    const { outcome, document } = await this.#stage.ask({
      ...request,
      proof: "kept",
      key: keyOfView(view),
      kind,
      by: this.#workload,
      token: this.#world.adminToken,
      isWrite: true,
      value: joinValues(words),
      expected: { done, declined },
    });
    await sleep(this.#pauseMs * (0.5 + Math.random()));
    if (outcome !== "done") throw new Abandoned(this.#workload);
    return document?.data;
  }

  make(view: ResourceView, words: readonly string[], path: string, body: object, done = 201): Promise<Json> {
    return this.write(view, words, { kind: "create", method: "POST", path, body, done });
  }

  /** For resources with a limit per owner. */
  makeOneOfFew(view: ResourceView, words: readonly string[], path: string, body: object): Promise<Json> {
    return this.write(view, words, { kind: "create", method: "POST", path, body, done: 201, declined: [422] });
  }

  change(view: ResourceView, words: readonly string[], path: string, body: object): Promise<Json> {
    return this.write(view, words, { kind: "update", method: "PATCH", path, body, done: 200 });
  }

  remove(view: ResourceView, words: readonly string[], path: string): Promise<Json> {
    return this.write(view, words, { kind: "delete", method: "DELETE", path, done: 204 });
  }

  async runPass(workload: Workload): Promise<void> {
    try {
      await workload(this);
    } catch (error) {
      if (!(error instanceof Abandoned)) throw error;
    }
  }
}
