/**
 * Those who use the service during a proof, each in a loop and each about one promise: locks, leases of locks, values, who may read, and
 * what is made. None of them tries anything again; each goes on with the next.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { resource } from "../test/support/builders.ts";
import { announced, inRequest, managed, md5, stateOf } from "../test/support/states.ts";
import type { Json } from "./client.ts";
import type { Stage } from "./stage.ts";
import type { Person, World } from "./world.ts";

export interface Actor {
  readonly name: string;
  step(): Promise<void>;
}

/** Does steps, with a pause of random length between them, until it is told to stop. */
export async function act(actor: Actor, pauseMs: number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await actor.step();
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

const oneOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;

/**
 * What several share, and change for a new one when too much of its history is unknown: what may have happened or not doubles the ways
 * in which the rest can be explained.
 */
export class Shared {
  id: string;
  readonly #make: () => Promise<string>;
  #unknown = 0;
  #isMaking = false;

  private constructor(id: string, make: () => Promise<string>) {
    this.id = id;
    this.#make = make;
  }

  static async of(make: () => Promise<string>): Promise<Shared> {
    return new Shared(await make(), make);
  }

  noteUnknown(): void {
    this.#unknown += 1;
    if (this.#unknown >= 4 && !this.#isMaking) void this.#replace();
  }

  /** While the service is in trouble none can be made: the next unknown outcome tries again. */
  async #replace(): Promise<void> {
    this.#isMaking = true;
    try {
      this.id = await this.#make();
      this.#unknown = 0;
    } catch {
      // Later.
    } finally {
      this.#isMaking = false;
    }
  }
}

export function locker(stage: Stage, { name, token }: Person, shared: Shared): Actor {
  let count = 0;
  const lockWord = (document: Json) => (document.attributes.locked ? document.attributes["locked-reason"] : "");
  const common = () => ({ proof: "locks", key: shared.id, by: name, token });
  const steps = [
    () => {
      count += 1;
      const holder = `${name}:${count}`;
      return stage.ask({
        ...common(),
        kind: "lock",
        isWrite: true,
        value: holder,
        method: "POST",
        path: `/workspaces/${shared.id}/actions/lock`,
        body: { reason: holder },
        expected: { done: 200, declined: [409] },
      });
    },
    () =>
      stage.ask({
        ...common(),
        kind: "unlock",
        isWrite: true,
        value: name,
        method: "POST",
        path: `/workspaces/${shared.id}/actions/unlock`,
        expected: { done: 200, declined: [409] },
      }),
    () =>
      stage.ask({
        ...common(),
        kind: "read",
        isWrite: false,
        value: lockWord,
        method: "GET",
        path: `/workspaces/${shared.id}`,
        expected: { done: 200 },
      }),
  ];
  return {
    name: `locker ${name}`,
    step: async () => {
      if ((await oneOf(steps)()).outcome === "unknown") shared.noteUnknown();
    },
  };
}

/** The shortest lease that there is. */
export const leaseSeconds = 30;

/** Takes a lock for a time and never gives it back: it ends by itself, and whoever comes then has it. */
export function leaseholder(stage: Stage, { name, token }: Person, workspaceId: string): Actor {
  return {
    name: `leaseholder ${name}`,
    step: async () => {
      await stage.ask({
        proof: "leases",
        key: workspaceId,
        by: name,
        token,
        kind: "lease",
        isWrite: true,
        value: name,
        method: "POST",
        path: `/workspaces/${workspaceId}/actions/lock`,
        body: { reason: name, "lease-seconds": leaseSeconds },
        expected: { done: 200, declined: [409] },
      });
    },
  };
}

/** Writes and reads a workspace's description. */
export function scribe(stage: Stage, { name, token }: Person, shared: Shared): Actor {
  let count = 0;
  return {
    name: `scribe ${name}`,
    step: async () => {
      const isWrite = Math.random() < 0.5;
      count += 1;
      const written = `${name}:${count}`;
      const { outcome } = await stage.ask({
        proof: "values",
        key: shared.id,
        by: name,
        token,
        isWrite,
        kind: isWrite ? "write" : "read",
        value: isWrite ? written : (document: Json) => document.attributes.description ?? "",
        method: isWrite ? "PATCH" : "GET",
        path: `/workspaces/${shared.id}`,
        ...(isWrite && { body: resource("workspaces", { description: written }) }),
        expected: { done: 200 },
      });
      if (isWrite && outcome === "unknown") shared.noteUnknown();
    },
  };
}

/** Puts somebody into a team and takes them out again: one who may read a workspace by that alone. */
export function gatekeeper(stage: Stage, world: World, reader: Person, team: { readonly id: string }): Actor {
  let isIn = false;
  return {
    name: "gatekeeper",
    step: async () => {
      const adds = !isIn;
      const { outcome } = await stage.ask({
        proof: "access",
        key: team.id,
        by: "admin",
        token: world.adminToken,
        kind: "write",
        isWrite: true,
        value: adds ? "yes" : "no",
        method: adds ? "POST" : "DELETE",
        path: `/teams/${team.id}/relationships/users`,
        body: { data: [{ type: "users", id: reader.name }] },
        expected: { done: 204 },
      });
      // Where that is not known, the other way round will do as well.
      if (outcome !== "refused") isIn = adds;
    },
  };
}

/** Looks whether it may read. */
export function visitor(stage: Stage, reader: Person, teamId: string, workspaceId: string): Actor {
  return {
    name: "visitor",
    step: async () => {
      await stage.ask({
        proof: "access",
        key: teamId,
        by: reader.name,
        token: reader.token,
        kind: "read",
        isWrite: false,
        value: () => "yes",
        valueDeclined: "no",
        method: "GET",
        path: `/workspaces/${workspaceId}`,
        expected: { done: 200, declined: [404] },
      });
    },
  };
}

/** Makes workspaces, which nobody removes. */
export function settler(stage: Stage, world: World, { name, token }: Person): Actor {
  return {
    name: `settler ${name}`,
    step: async () => {
      const value = world.name("made");
      await stage.ask({
        proof: "made",
        key: value,
        by: name,
        token,
        kind: "create",
        isWrite: true,
        value,
        method: "POST",
        path: `/organizations/${world.organization}/workspaces`,
        body: resource("workspaces", { name: value }),
        expected: { done: 201 },
      });
    },
  };
}

/** Writes one state after the other to a workspace of its own, which stays locked. */
export async function stateWriter(stage: Stage, world: World, { name, token }: Person): Promise<Actor> {
  const key = await world.workspace();
  const [server] = stage.servers;
  const common = { proof: "states", key, by: name, token, isWrite: true, method: "POST" } as const;
  await stage.ask({
    ...common,
    kind: "lock",
    expected: { done: 200 },
    path: `/workspaces/${key}/actions/lock`,
    ...(server !== undefined && { server }),
  });
  let serial = 0;
  return {
    name: `state writer ${name}`,
    step: async () => {
      // Past whatever may have been written without our knowing.
      serial += 1;
      const state = stateOf({ serial, outputs: { serial: { value: `${key} ${serial}`, type: "string" } } });
      await stage.ask({
        ...common,
        kind: "state",
        value: `${serial} ${md5(state)}`,
        expected: { done: 201 },
        path: `/workspaces/${key}/state-versions`,
        body: resource("state-versions", inRequest(state)),
      });
    },
  };
}

/** The same in two steps, as engines do: a state is announced, and its content sent to a URL; of several chunks now and then. */
export async function uploader(stage: Stage, world: World, { name, token }: Person): Promise<Actor> {
  const key = await world.workspace();
  const common = { proof: "states", key, by: name, token, isWrite: true } as const;
  const locked = await stage.ask({
    ...common,
    kind: "lock",
    method: "POST",
    expected: { done: 200 },
    path: `/workspaces/${key}/actions/lock`,
  });
  if (locked.outcome !== "done") throw new Error("a workspace can't be locked before a proof begins");
  let serial = 0;
  return {
    name: `uploader ${name}`,
    step: async () => {
      serial += 1;
      const padding = randomBytes(Math.random() < 0.2 ? 300_000 : 3_000).toString("hex");
      const state = stateOf({ serial, resources: [managed("one", 1, { padding })] });
      const { outcome, document } = await stage.ask({
        ...common,
        kind: "announce",
        method: "POST",
        expected: { done: 201 },
        path: `/workspaces/${key}/state-versions`,
        body: resource("state-versions", announced(state)),
      });
      if (outcome !== "done") return;
      const { pathname, search } = new URL(document.data.attributes["hosted-state-upload-url"]);
      await stage.ask({
        ...common,
        kind: "state",
        method: "PUT",
        value: `${serial} ${md5(state)}`,
        expected: { done: 204 },
        path: `${pathname}${search}`,
        raw: { bytes: state },
      });
    },
  };
}
