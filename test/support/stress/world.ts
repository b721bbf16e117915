/** The shared resources of a stress test by type, and a seeded random generator. */
import type { Json } from "../api.ts";

export type Params = Readonly<Record<string, string>>;

export interface SharedResource {
  readonly id: string;
  readonly params: Params;
}

/** Between these counts, callers share resources and always find one to change. */
const countMin = 2;
const countMax: Readonly<Record<string, number>> = {
  workspaces: 8,
  projects: 4,
  users: 5,
  "organization-memberships": 6,
  runs: 200,
};
const countMaxOfOthers = 4;

const typesOfParams: Readonly<Record<string, string>> = {
  organization_name: "organizations",
  workspace_name: "workspace names",
  membership_id: "organization-memberships",
  token_id: "authentication-tokens",
  varset_var_id: "varset vars",
  invitation_secret: "invitation secrets",
};

export function typeOfParam(param: string): string {
  return typesOfParams[param] ?? `${param.replace(/_id$/, "").replaceAll("_", "-")}s`;
}

export class World {
  /** Between 0 and 1; deterministic for a seed. */
  readonly chance: () => number;
  /** Never deleted, unlike the others. */
  readonly organizationName: string;
  readonly #resources = new Map<string, SharedResource[]>();

  constructor(organizationName: string, seed: number) {
    this.organizationName = organizationName;
    this.chance = randomFrom(seed);
  }

  all(type: string): readonly SharedResource[] {
    return this.#resources.get(type) ?? [];
  }

  add(type: string, resource: SharedResource): void {
    const resources = this.#resources.get(type);
    if (resources === undefined) this.#resources.set(type, [resource]);
    else resources.push(resource);
  }

  drop(type: string, id: string): void {
    const resources = this.#resources.get(type) ?? [];
    const position = resources.findIndex((each) => each.id === id);
    if (position >= 0) resources.splice(position, 1);
  }

  replace(type: string, ids: readonly string[]): void {
    this.#resources.set(
      type,
      ids.map((id) => ({ id, params: {} })),
    );
  }

  canCreate(type: string): boolean {
    return this.all(type).length < (countMax[type] ?? countMaxOfOthers);
  }

  canRemove(type: string): boolean {
    return this.all(type).length > countMin;
  }

  happens(probability: number): boolean {
    return this.chance() < probability;
  }

  one<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.chance() * choices.length)] as T;
  }

  some<T>(choices: readonly T[], from = 1, to = 4): T[] {
    const count = from + Math.floor(this.chance() * (to - from + 1));
    return choices
      .map((choice) => ({ choice, order: this.chance() }))
      .toSorted((left, right) => left.order - right.order)
      .slice(0, count)
      .map(({ choice }) => choice);
  }

  pick(type: string): SharedResource {
    return this.one(this.all(type)) ?? { id: "none", params: {} };
  }

  identifier(type: string): Json {
    return { type, id: this.pick(type).id };
  }

  identifiers(type: string): Json[] {
    return this.some(this.all(type)).map(({ id }) => ({ type, id }));
  }
}

export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
