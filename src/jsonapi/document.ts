/** Views → JSON:API documents. A renderer is compiled once per definition; documents hold paths, never hosts. */
import { camel } from "../kernel/names.ts";
import { aliases, withAliases } from "./aliases.ts";
import type { AnyAttribute, Included, Relationship, ResourceDefinition } from "./define.ts";
import type { Page } from "./query.ts";

export interface ResourceObject {
  readonly id: string;
  readonly type: string;
  readonly attributes: Record<string, unknown>;
  readonly relationships?: Record<string, unknown>;
  readonly links?: Readonly<Record<string, string>>;
}

type Render = (view: unknown) => ResourceObject;
type Reader = (view: Record<string, unknown>) => unknown;

const renderers = new WeakMap<ResourceDefinition, Render>();

export function renderResource(definition: ResourceDefinition, view: unknown): ResourceObject {
  let render = renderers.get(definition);
  if (render === undefined) {
    render = compile(definition);
    renderers.set(definition, render);
  }
  return render(view);
}

function compile(definition: ResourceDefinition): Render {
  const attributes = attributeReaders(definition, () => true);
  const relationships = Object.entries(definition.relationships);
  return (view) => {
    const links = definition.links?.(view);
    return {
      id: definition.id(view),
      type: definition.typeOf?.(view) ?? definition.type,
      attributes: readAll(attributes, view as Record<string, unknown>),
      ...(relationships.length > 0 && { relationships: renderRelationships(relationships, view) }),
      ...(links !== undefined && { links }),
    };
  };
}

function attributeReaders(definition: ResourceDefinition, wanted: (name: string) => boolean): [string, Reader][] {
  const readers: [string, Reader][] = [];
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!attribute.shown || !wanted(name)) continue;
    const key = camel(name);
    const from = attribute.from as Reader | undefined;
    const plain: Reader = from ?? ((view) => view[key]);
    const read = shownBy(attribute.schema, plain);
    readers.push([name, read]);
    const alias = aliases[name];
    if (alias !== undefined) readers.push([alias, read]);
  }
  return readers;
}

/** How a value is shown follows from its schema: flags are stored as 0 or 1, and what is in an object may have two names. */
function shownBy(schema: AnyAttribute["schema"], read: Reader): Reader {
  const inner = schema.type === "nullable" ? schema.def.innerType : schema;
  if (inner.type === "boolean") return (view) => toFlag(read(view));
  if (inner.type === "object") return (view) => withAliases(read(view));
  return read;
}

const toFlag = (value: unknown) => (typeof value === "number" ? value !== 0 : value);

/** A member whose reader gives undefined is left out of the document. */
function readAll(readers: readonly [string, Reader][], view: Record<string, unknown>): Record<string, unknown> {
  const read: Record<string, unknown> = {};
  for (const [name, reader] of readers) {
    const value = reader(view);
    if (value !== undefined) read[name] = value;
  }
  return read;
}

/** What of a view goes into the audit trail: its attributes, without secrets and what depends on the caller. */
export function auditedAttributes(definition: ResourceDefinition, view: object): Record<string, unknown> {
  const readers = attributeReaders(definition, (name) => definition.attributes[name]?.audited === true);
  return readAll(readers, view as Record<string, unknown>);
}

function renderRelationships(relationships: readonly [string, Relationship][], view: unknown): Record<string, unknown> {
  const rendered: Record<string, unknown> = {};
  for (const [name, relationship] of relationships) {
    const data = relationship.many ? renderMany(relationship, view) : renderOne(relationship, view);
    const related = relationship.related?.(view as never);
    if (data === undefined && related === undefined) continue;
    rendered[name] = { ...(data !== undefined && { data }), ...(related !== undefined && { links: { related } }) };
  }
  return rendered;
}

function renderOne(relationship: Relationship & { many: false }, view: unknown): unknown {
  const id = relationship.id?.(view as never);
  if (id === undefined || id === null) return id;
  return { id, type: relationship.type?.(view as never) ?? relationship.types[0] };
}

function renderMany(relationship: Relationship & { many: true }, view: unknown): unknown {
  return relationship.ids?.(view as never)?.map((id) => ({ id, type: relationship.types[0] }));
}

// --- whole documents

/** Each thing once, however many others lead to it. */
export function renderIncluded(included: readonly Included[] | undefined): { included?: ResourceObject[] } {
  if (included === undefined) return {};
  const seen = new Map<string, ResourceObject>();
  for (const { definition, view } of included) {
    const key = `${definition.type} ${definition.id(view)}`;
    if (!seen.has(key)) seen.set(key, renderResource(definition, view));
  }
  return { included: [...seen.values()] };
}

export interface PageFacts {
  readonly page: Page;
  readonly totalCount: number;
  /** The path and query of the request, as it was made. */
  readonly url: string;
}

export function pagination({ page, totalCount, url }: PageFacts) {
  const totalPages = Math.max(1, Math.ceil(totalCount / page.size));
  const prevPage = page.number > 1 ? Math.min(page.number - 1, totalPages) : null;
  const nextPage = page.number < totalPages ? page.number + 1 : null;
  const link = (number: number) => pageLink(url, { number, size: page.size });
  return {
    links: {
      self: link(page.number),
      first: link(1),
      prev: prevPage === null ? null : link(prevPage),
      next: nextPage === null ? null : link(nextPage),
      last: link(totalPages),
    },
    meta: {
      pagination: {
        "current-page": page.number,
        "page-size": page.size,
        "prev-page": prevPage,
        "next-page": nextPage,
        "total-pages": totalPages,
        "total-count": totalCount,
      },
    },
  };
}

function pageLink(url: string, page: Page): string {
  return withParameters(url, { "page[number]": String(page.number), "page[size]": String(page.size) });
}

export function withParameters(url: string, parameters: Readonly<Record<string, string>>): string {
  const [path = "", query = ""] = url.split("?", 2);
  const search = new URLSearchParams(query);
  for (const [name, value] of Object.entries(parameters)) search.set(name, value);
  return `${path}?${search.toString()}`;
}
