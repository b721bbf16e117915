/** The clients of a proof. Each runs in a loop and exercises one guarantee: locks, lock leases, values, access, creation. They don't retry. */
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { resource } from "../test/support/builders.ts";
import { pendingStateAttributes, stateAttributes, managed, md5, stateOf } from "../test/support/states.ts";
import { type Json, mediaType } from "./client.ts";
import type { Stage } from "./stage.ts";
import type { Person, World } from "./world.ts";

export interface Actor {
  readonly name: string;
  step(): Promise<void>;
}

/** Repeats the actor's step with random pauses until `isOver`. */
export async function act(actor: Actor, pauseMs: number, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await actor.step();
    await sleep(pauseMs * (0.5 + Math.random()));
  }
}

const oneOf = <T>(values: readonly T[]): T => values[Math.floor(Math.random() * values.length)] as T;

/** A resource that several actors share. It is replaced when too many outcomes are unknown, because each one doubles the checker's search. */
export class SharedWorkspace {
  id: string;
  readonly #make: () => Promise<string>;
  #unknown = 0;
  #isMaking = false;

  private constructor(id: string, make: () => Promise<string>) {
    this.id = id;
    this.#make = make;
  }

  static async of(make: () => Promise<string>): Promise<SharedWorkspace> {
    return new SharedWorkspace(await make(), make);
  }

  noteUnknown(): void {
    this.#unknown += 1;
    if (this.#unknown >= 4 && !this.#isMaking) void this.#replace();
  }

  /** Can fail while the service is down; the next unknown outcome tries again. */
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

export function locker(stage: Stage, { name, token }: Person, shared: SharedWorkspace): Actor {
  let count = 0;
  const lockReason = (document: Json) => (document.attributes.locked ? document.attributes["locked-reason"] : "");
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
        value: lockReason,
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

/** The shortest lease that the API allows. */
export const leaseSeconds = 30;

/** Takes a lock with a lease and never unlocks it. */
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
export function valueWriter(stage: Stage, world: World, person: Person, shared: SharedWorkspace): Actor {
  const { name, token } = person;
  let count = 0;
  return {
    name: `value writer ${name}`,
    step: async () => {
      if (Math.random() < 0.5) return readValue(stage, world, person, shared);
      count += 1;
      const written = `${name}:${count}`;
      const { outcome } = await stage.ask({
        proof: "values",
        key: shared.id,
        by: name,
        token,
        isWrite: true,
        kind: "write",
        value: written,
        method: "PATCH",
        path: `/workspaces/${shared.id}`,
        body: resource("workspaces", { description: written }),
        expected: { done: 200 },
      });
      if (outcome === "unknown") shared.noteUnknown();
    },
  };
}

/** Only reads, often enough that most responses come from the cache. */
export function valueReader(stage: Stage, world: World, person: Person, shared: SharedWorkspace): Actor {
  return { name: `value reader ${person.name}`, step: () => readValue(stage, world, person, shared) };
}

/** In the document or in a list, by the response cache or bypassing it: all have to show the same values in the same order. */
async function readValue(
  stage: Stage,
  { organization }: World,
  { name, token }: Person,
  { id }: SharedWorkspace,
): Promise<void> {
  const [isInList, bypassesCache] = [Math.random() < 0.5, Math.random() < 0.2];
  await stage.ask({
    proof: "values",
    key: id,
    by: name,
    token,
    isWrite: false,
    kind: `${bypassesCache ? "uncached " : ""}read${isInList ? " in a list" : ""}`,
    value: (document: Json) => (isInList ? document[0] : document).attributes.description ?? "",
    method: "GET",
    path: isInList ? `/organizations/${organization}/workspaces?filter[id]=${id}` : `/workspaces/${id}`,
    // The cache's key contains the header.
    ...(bypassesCache && { headers: { accept: `${mediaType};bypass=${randomBytes(8).toString("hex")}` } }),
    expected: { done: 200 },
  });
}

/** Adds a user to a team and removes them again; the team is their only access to a workspace. */
export function membershipSwitcher(stage: Stage, world: World, reader: Person, team: { readonly id: string }): Actor {
  let isIn = false;
  return {
    name: "membership switcher",
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
      if (outcome !== "refused") isIn = adds;
    },
  };
}

/** Tries to read the workspace. */
export function workspaceReader(stage: Stage, reader: Person, teamId: string, workspaceId: string): Actor {
  return {
    name: "workspace reader",
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

/** Creates workspaces, which are never deleted. */
export function workspaceCreator(stage: Stage, world: World, { name, token }: Person): Actor {
  return {
    name: `workspace creator ${name}`,
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

/** Writes states to its own workspace, which stays locked. */
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
      // Skips serials whose outcome is unknown.
      serial += 1;
      const state = stateOf({ serial, outputs: { serial: { value: `${key} ${serial}`, type: "string" } } });
      await stage.ask({
        ...common,
        kind: "state",
        value: `${serial} ${md5(state)}`,
        expected: { done: 201 },
        path: `/workspaces/${key}/state-versions`,
        body: resource("state-versions", stateAttributes(state)),
      });
    },
  };
}

/** Writes states as engines do: creates a version, then uploads its content, sometimes in several chunks. */
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
  if (locked.outcome !== "done") throw new Error("locking a workspace failed before the proof");
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
        body: resource("state-versions", pendingStateAttributes(state)),
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
