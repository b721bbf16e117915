/** The shared resources of a stress test by type, and a seeded random generator. */
import type { Json } from "../api.ts";

export type Params = Readonly<Record<string, string>>;

export interface Thing {
  readonly id: string;
  readonly params: Params;
}

/** Between these numbers resources are shared, and there is always something to do. */
const fewest = 2;
const most: Readonly<Record<string, number>> = {
  workspaces: 8,
  projects: 4,
  users: 5,
  "organization-memberships": 6,
  runs: 200,
};
const mostOfOthers = 4;

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
  readonly #things = new Map<string, Thing[]>();

  constructor(organizationName: string, seed: number) {
    this.organizationName = organizationName;
    this.chance = chanceFrom(seed);
  }

  all(type: string): readonly Thing[] {
    return this.#things.get(type) ?? [];
  }

  add(type: string, thing: Thing): void {
    const things = this.#things.get(type);
    if (things === undefined) this.#things.set(type, [thing]);
    else things.push(thing);
  }

  drop(type: string, id: string): void {
    const things = this.#things.get(type) ?? [];
    const position = things.findIndex((thing) => thing.id === id);
    if (position >= 0) things.splice(position, 1);
  }

  replace(type: string, ids: readonly string[]): void {
    this.#things.set(
      type,
      ids.map((id) => ({ id, params: {} })),
    );
  }

  mayMake(type: string): boolean {
    return this.all(type).length < (most[type] ?? mostOfOthers);
  }

  mayRemove(type: string): boolean {
    return this.all(type).length > fewest;
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
      .map((choice) => ({ choice, place: this.chance() }))
      .toSorted((left, right) => left.place - right.place)
      .slice(0, count)
      .map(({ choice }) => choice);
  }

  thing(type: string): Thing {
    return this.one(this.all(type)) ?? { id: "none", params: {} };
  }

  identifier(type: string): Json {
    return { type, id: this.thing(type).id };
  }

  identifiers(type: string): Json[] {
    return this.some(this.all(type)).map(({ id }) => ({ type, id }));
  }
}

export function chanceFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
