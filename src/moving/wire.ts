/** Documents as they are on the wire, whoever wrote them: nothing in them is taken for granted. */

export type Json = Readonly<Record<string, unknown>>;

export interface Thing {
  readonly id: string;
  readonly type: string;
  readonly attributes: Json;
  readonly relationships: Json;
}

/** A page of a list, with what came beside it. */
export interface Page {
  readonly things: readonly Thing[];
  readonly included: readonly Thing[];
}

/** Where an organization is read from: another server, or this register. */
export interface Origin {
  /** Raises Missing. */
  get(path: string): Promise<Thing>;
  /** Page by page. Raises Missing. */
  pages(path: string): AsyncIterable<Page>;
}

/** What was asked for is not there, or not for us; the message is a sentence. */
export class Missing extends Error {
  override readonly name = "Missing";
}

/** The whole list, where it is not long. Raises Missing. */
export async function all(origin: Origin, path: string): Promise<Thing[]> {
  const things: Thing[] = [];
  for await (const page of origin.pages(path)) things.push(...page.things);
  return things;
}

export const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Undefined for what is no thing. */
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

/** A body that makes or changes a thing. */
export const bodyOf = (type: string, attributes: Json, relationships: Json = {}) => ({
  data: { type, attributes, relationships },
});

export const linkage = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
