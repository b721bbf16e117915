/** Reads JSON:API documents of any server. It must not assume that anything in them is present or well-formed. */

export type WireObject = Readonly<Record<string, unknown>>;

export interface WireResource {
  readonly id: string;
  readonly type: string;
  readonly attributes: WireObject;
  readonly relationships: WireObject;
}

export interface ResourcePage {
  readonly resources: readonly WireResource[];
  readonly included: readonly WireResource[];
}

export interface OrganizationReader {
  /** Throws MissingResource. */
  get(path: string): Promise<WireResource>;
  /** Throws MissingResource. */
  pages(path: string): AsyncIterable<ResourcePage>;
}

/** The resource doesn't exist, or the token has no access to it. */
export class MissingResource extends Error {
  override readonly name = "MissingResource";
}

/** Throws MissingResource. */
export async function listAll(origin: OrganizationReader, path: string): Promise<WireResource[]> {
  const found: WireResource[] = [];
  for await (const page of origin.pages(path)) found.push(...page.resources);
  return found;
}

export const isObject = (value: unknown): value is WireObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function resourceOf(value: unknown): WireResource | undefined {
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

export const resourcesOf = (value: unknown): WireResource[] =>
  Array.isArray(value) ? value.map(resourceOf).filter((resource) => resource !== undefined) : [];

export function textOf({ attributes }: Pick<WireResource, "attributes">, name: string): string | undefined {
  const value = attributes[name];
  return typeof value === "string" ? value : undefined;
}

export const flagOf = ({ attributes }: Pick<WireResource, "attributes">, name: string): boolean =>
  attributes[name] === true;

export function numberOf({ attributes }: Pick<WireResource, "attributes">, name: string): number {
  const value = Number(attributes[name]);
  return Number.isSafeInteger(value) ? value : 0;
}

export function objectOf({ attributes }: Pick<WireResource, "attributes">, name: string): WireObject {
  const value = attributes[name];
  return isObject(value) ? value : {};
}

const linkageOf = ({ relationships }: WireResource, name: string): unknown => {
  const relationship = relationships[name];
  return isObject(relationship) ? relationship["data"] : undefined;
};

const idIn = (linkage: unknown): string | undefined => {
  const id = isObject(linkage) ? linkage["id"] : undefined;
  return typeof id === "string" && id !== "" ? id : undefined;
};

export const relatedId = (resource: WireResource, name: string): string | undefined => idIn(linkageOf(resource, name));

export function relatedType(resource: WireResource, name: string): string | undefined {
  const linkage = linkageOf(resource, name);
  return isObject(linkage) && typeof linkage["type"] === "string" ? linkage["type"] : undefined;
}

export function relatedIds(resource: WireResource, name: string): string[] {
  const linkage = linkageOf(resource, name);
  return Array.isArray(linkage) ? linkage.map(idIn).filter((id) => id !== undefined) : [];
}

export const bodyOf = (type: string, attributes: WireObject, relationships: WireObject = {}) => ({
  data: { type, attributes, relationships },
});

export const linkage = (type: string, ids: readonly string[]) => ({ data: ids.map((id) => ({ type, id })) });
