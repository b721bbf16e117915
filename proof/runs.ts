/** Actors that queue runs, and agents that speak the protocol without starting an engine. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Json } from "./client.ts";
import type { Actor } from "./actors.ts";
import type { Stage } from "./stage.ts";
import type { World } from "./world.ts";

const engines = { terraform: ["1.5.7"] };

/** Queues plans in its own workspace. */
export async function planner(stage: Stage, world: World): Promise<Actor> {
  const { workspaceId, configurationId } = await world.runnable();
  const relationships = {
    workspace: { data: { type: "workspaces", id: workspaceId } },
    "configuration-version": { data: { type: "configuration-versions", id: configurationId } },
  };
  return {
    name: "planner",
    step: async () => {
      await stage.ask({
        proof: "runs",
        key: workspaceId,
        by: "admin",
        token: world.adminToken,
        kind: "queue",
        isWrite: true,
        value: (run: Json) => run.id,
        method: "POST",
        path: "/runs",
        expected: { done: 201 },
        body: { data: { type: "runs", attributes: { "plan-only": true }, relationships } },
      });
    },
  };
}

/** Claims a plan, and reports its start and its end. */
export class Executor implements Actor {
  readonly name: string;
  readonly #stage: Stage;
  readonly #common: { readonly by: string; readonly token: string; readonly isWrite: true; readonly method: "POST" };
  #agentId: string | undefined;

  constructor(stage: Stage, token: string, name: string) {
    this.name = name;
    this.#stage = stage;
    this.#common = { by: name, token, isWrite: true, method: "POST" };
  }

  async step(): Promise<void> {
    if (this.#agentId === undefined) return this.#register();
    const job = await this.#claim();
    if (job === undefined) return;
    if (await this.#report(job, "start")) await this.#report(job, "finish", ending);
  }

  async #register(): Promise<void> {
    const { name } = this;
    const { outcome, document } = await this.#stage.ask({
      ...this.#common,
      proof: "agents",
      key: name,
      kind: "register",
      path: "/agents",
      expected: { done: 201 },
      body: { data: { type: "agents", attributes: { name, version: "0.0.0", engines, sandbox: "none" } } },
    });
    if (outcome === "done") this.#agentId = document.data.id;
  }

  async #claim(): Promise<Json> {
    const { outcome, document } = await this.#stage.ask({
      ...this.#common,
      proof: "jobs",
      key: this.name,
      kind: "claim",
      value: (job: Json) => `${job.id} ${job.attributes.attempt}`,
      path: `/agents/${this.#agentId}/actions/claim`,
      body: { wait: 1, engines },
      expected: { done: 200, declined: [204] },
    });
    return outcome === "done" ? document.data : undefined;
  }

  /** Retries, like a real agent. Returns whether the server accepted the report. */
  async #report(job: Json, action: string, body: object = {}): Promise<boolean> {
    for (let attempts = 0; attempts < 40; attempts += 1) {
      const { outcome } = await this.#stage.ask({
        ...this.#common,
        proof: "jobs",
        key: job.id,
        kind: action,
        value: `${job.attributes["run-id"]} ${job.attributes.attempt}`,
        path: `/agent-jobs/${job.id}/actions/${action}`,
        body: { attempt: job.attributes.attempt, ...body },
        // A repeated or late report is declined.
        expected: { done: 204, declined: [404, 409] },
      });
      if (outcome === "done" || outcome === "declined") return outcome === "done";
      await sleep(500);
    }
    return false;
  }
}

const ending = { result: "finished", "has-changes": false };
