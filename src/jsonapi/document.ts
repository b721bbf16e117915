/** Writes views as JSON:API text with one compiled writer per definition: twice as fast as building objects for `JSON.stringify`. */
import { camel } from "../kernel/names.ts";
import { aliases, withAliases } from "./aliases.ts";
import type { AnyAttribute, IncludedResource, ResourceDefinition } from "./define.ts";
import type { Relationship } from "./relationships.ts";

type JsonWriter = (view: Record<string, unknown>) => string | undefined;
type ViewReader = (view: Record<string, unknown>) => unknown;

const writers = new WeakMap<ResourceDefinition, JsonWriter>();

export function writeResource(definition: ResourceDefinition, view: unknown): string {
  let write = writers.get(definition);
  if (write === undefined) {
    write = compile(definition);
    writers.set(definition, write);
  }
  return write(view as Record<string, unknown>) ?? "null";
}

export function writeResources(definition: ResourceDefinition, views: readonly unknown[]): string {
  return `[${views.map((view) => writeResource(definition, view)).join(",")}]`;
}

/** Each resource once. The text starts with a comma. */
export function writeIncluded(included: readonly IncludedResource[] | undefined): string {
  if (included === undefined) return "";
  const seen = new Map<string, string>();
  for (const { definition, view } of included) {
    const key = `${definition.type} ${definition.id(view)}`;
    if (!seen.has(key)) seen.set(key, writeResource(definition, view));
  }
  return `,"included":[${[...seen.values()].join(",")}]`;
}

function compile(definition: ResourceDefinition): JsonWriter {
  const attributes = members(
    attributeReaders(definition, () => true).map(([name, read, type]) => [name, writerOf(read, type)]),
  );
  const linked = Object.entries(definition.relationships);
  const relationships = members(linked.map(([name, relationship]) => [name, relationshipWriter(relationship)]));
  const { id, type, typeOf, links } = definition;
  return (view) => {
    const shownLinks = links?.(view);
    return `{"id":${text(id(view))},"type":${text(typeOf?.(view) ?? type)},"attributes":{${attributes(view)}}${
      linked.length > 0 ? `,"relationships":{${relationships(view)}}` : ""
    }${shownLinks === undefined ? "" : `,"links":${JSON.stringify(shownLinks)}`}}`;
  };
}

function members(named: readonly (readonly [string, JsonWriter])[]): (view: Record<string, unknown>) => string {
  const pieces = named.map(([name, write]) => [`${JSON.stringify(name)}:`, write] as const);
  return (view) => {
    let written = "";
    for (const [name, write] of pieces) {
      const value = write(view);
      if (value !== undefined) written += written === "" ? name + value : `,${name}${value}`;
    }
    return written;
  };
}

// oxlint-disable-next-line no-control-regex -- these are exactly the characters that must be escaped
const escaped = /["\\\u0000-\u001f\ud800-\udfff]/;
const text = (value: string): string => (escaped.test(value) ? JSON.stringify(value) : `"${value}"`);

/** A value that is JSON already. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

function json(value: unknown): string | undefined {
  if (value === null) return "null";
  if (value instanceof JsonText) return value.text;
  if (typeof value === "string") return text(value);
  if (typeof value === "boolean") return value ? "true" : "false";
  return JSON.stringify(value);
}

/** Flags are stored as 0 or 1, lists as JSON; members of objects may have aliases. */
type ValueKind = "flag" | "list" | "object" | "plain";

function kindOf(schema: AnyAttribute["schema"]): ValueKind {
  const inner = schema.type === "nullable" ? schema.def.innerType : schema;
  if (inner.type === "boolean") return "flag";
  if (inner.type === "array") return "list";
  return inner.type === "object" && Object.keys(inner.def.shape).some((name) => name in aliases) ? "object" : "plain";
}

function toShown(value: unknown, as: ValueKind): unknown {
  if (as === "flag") return typeof value === "number" ? value !== 0 : value;
  if (as === "list") return typeof value === "string" ? JSON.parse(value) : value;
  return as === "object" ? withAliases(value) : value;
}

function writerOf(read: ViewReader, as: ValueKind): JsonWriter {
  if (as === "plain") return (view) => json(read(view));
  if (as === "list") return (view) => listText(read(view));
  return (view) => json(toShown(read(view), as));
}

const listText = (value: unknown) => (typeof value === "string" ? value : json(value));

function attributeReaders(
  definition: ResourceDefinition,
  isRead: (attribute: AnyAttribute) => boolean,
): [string, ViewReader, ValueKind][] {
  const readers: [string, ViewReader, ValueKind][] = [];
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    if (!attribute.shown || !isRead(attribute)) continue;
    const key = camel(name);
    const read = (attribute.from as ViewReader | undefined) ?? ((view) => view[key]);
    const as = kindOf(attribute.schema);
    readers.push([name, read, as]);
    const alias = aliases[name];
    if (alias !== undefined) readers.push([alias, read, as]);
  }
  return readers;
}

const auditedByDefinition = new WeakMap<ResourceDefinition, [string, ViewReader, ValueKind][]>();

export function auditedAttributes(definition: ResourceDefinition, view: object): Record<string, unknown> {
  let readers = auditedByDefinition.get(definition);
  if (readers === undefined) {
    readers = attributeReaders(definition, (attribute) => attribute.audited);
    auditedByDefinition.set(definition, readers);
  }
  const audited: Record<string, unknown> = {};
  for (const [name, read, as] of readers) {
    const value = toShown(read(view as Record<string, unknown>), as);
    if (value !== undefined) audited[name] = value;
  }
  return audited;
}

function relationshipWriter(relationship: Relationship): JsonWriter {
  const { related } = relationship;
  const data = relationship.many ? manyWriter(relationship) : oneWriter(relationship);
  return (view) => {
    const linkage = data(view);
    const link = related?.(view as never);
    if (linkage === undefined) return link === undefined ? undefined : `{"links":{"related":${text(link)}}}`;
    return link === undefined ? `{"data":${linkage}}` : `{"data":${linkage},"links":{"related":${text(link)}}}`;
  };
}

function oneWriter({ id: idOf, type: typeOf, types }: Relationship & { many: false }): JsonWriter {
  const defaultType = text(types[0] ?? "");
  return (view) => {
    const id = idOf?.(view as never);
    if (id === undefined) return undefined;
    if (id === null) return "null";
    return `{"id":${text(id)},"type":${typeOf === undefined ? defaultType : text(typeOf(view as never))}}`;
  };
}

function manyWriter({ ids: idsOf, types, meta: metaOf }: Relationship & { many: true }): JsonWriter {
  const type = text(types[0] ?? "");
  const metaText = (view: unknown, id: string) => {
    const meta = metaOf?.(view as never, id);
    return meta === undefined ? "" : `,"meta":${JSON.stringify(meta)}`;
  };
  return (view) => {
    const ids = idsOf?.(view as never);
    return ids && `[${ids.map((id) => `{"id":${text(id)},"type":${type}${metaText(view, id)}}`).join(",")}]`;
  };
}
