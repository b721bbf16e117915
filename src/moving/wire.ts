/** JSON:API documents of any server, read without assuming that anything in them is present or well-formed. */

export type Json = Readonly<Record<string, unknown>>;

export interface Thing {
  readonly id: string;
  readonly type: string;
  readonly attributes: Json;
  readonly relationships: Json;
}

export interface Page {
  readonly things: readonly Thing[];
  readonly included: readonly Thing[];
}

/** Where an organization is read from: another server, or this one. */
export interface Origin {
  /** Throws Missing. */
  get(path: string): Promise<Thing>;
  /** Throws Missing. */
  pages(path: string): AsyncIterable<Page>;
}

/** The resource doesn't exist or the token has no access to it. */
export class Missing extends Error {
  override readonly name = "Missing";
}

/** Reads all pages into memory. Throws Missing. */
export async function all(origin: Origin, path: string): Promise<Thing[]> {
  const things: Thing[] = [];
  for await (const page of origin.pages(path)) things.push(...page.things);
  return things;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Undefined if the value is not a resource object. */
export function thingOf(value: unknown): Thing | undefined {
  if (!isObject(value)) return undefined;
  const { id, type, attributes, relationships } = value;
  if (typeof id !== "string" || typeof type !== "string") return undefined;
  return {
    id,
    type,
    attributes: isObject(attributes) ? attributes : {},
    relationships: isObject(relationships) ? relationships : {},
  };
}

export const thingsOf = (value: unknown): Thing[] =>
  Array.isArray(value) ? value.map(thingOf).filter((thing) => thing !== undefined) : [];

export function textOf({ attributes }: Pick<Thing, "attributes">, name: string): string | undefined {
  const value = attributes[name];
  return typeof value === "string" ? value : undefined;
}

export const flagOf = ({ attributes }: Pick<Thing, "attributes">, name: string): boolean => attributes[name] === true;

export function numberOf({ attributes }: Pick<Thing, "attributes">, name: string): number {
  const value = Number(attributes[name]);
  return Number.isSafeInteger(value) ? value : 0;
}

export function objectOf({ attributes }: Pick<Thing, "attributes">, name: string): Json {
  const value = attributes[name];
  return isObject(value) ? value : {};
}

const linkageOf = ({ relationships }: Thing, name: string): unknown => {
  const relationship = relationships[name];
  return isObject(relationship) ? relationship["data"] : undefined;
};

const idIn = (linkage: unknown): string | undefined => {
  const id = isObject(linkage) ? linkage["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
};

export const relatedId = (thing: Thing, name: string): string | undefined => idIn(linkageOf(thing, name));

export function relatedType(thing: Thing, name: string): string | undefined {
  const linkage = linkageOf(thing, name);
  return isObject(linkage) && typeof linkage["type"] === "string" ? linkage["type"] : undefined;
}

export function relatedIds(thing: Thing, name: string): string[] {
  const linkage = linkageOf(thing, name);
  return Array.isArray(linkage) ? linkage.map(idIn).filter((id) => id !== undefined) : [];
}

/** The body of a POST or PATCH. */
export const bodyOf = (type: string, attributes: Json, relationships: Json = {}) => ({
  data: { type, attributes, relationships },
});

export const linkage = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
