/** Parses request bodies into typed input, or reports every fault. Must not confuse absent with null; ignores unknown members. */
import type { z } from "zod";
import { AppError, type Fault, invalid } from "../kernel/errors.ts";
import { camel, human } from "../kernel/names.ts";
import { aliases } from "./aliases.ts";
import type { AnyAttribute, BodyDefinition, ResourceIdentifier, LinkageBody, ResourceDefinition } from "./define.ts";
import type { Relationship, ToMany } from "./relationships.ts";

export const linkageMax = 1000;
const nestingMax = 16;
const idLengthMax = 256;
const issuesMax = 100;

type JsonObject = Record<string, unknown>;

/** Throws `invalid` with every fault. */
export function parseBody(definition: ResourceDefinition, body: BodyDefinition, json: unknown): unknown {
  if (typeof body === "object" && "stream" in body) return json;
  refuseUnstorable(json);
  if (body === "create" || body === "update") return parseResource(definition, body, json);
  if (body === "untyped-update") return parseResource(definition, "update", json, false);
  if (body === "optional-create") return parseOptional(definition, json);
  if ("linkage" in body) return parseLinkage(body, json);
  if (json === undefined && body.optional) return undefined;
  return parseCustom(body.custom, json);
}

function parseOptional(definition: ResourceDefinition, json: unknown): unknown {
  if (json === undefined || (isObject(json) && json["data"] === undefined))
    return { attributes: {}, relationships: {} };
  return parseResource(definition, "create", json, false);
}

function parseResource(
  definition: ResourceDefinition,
  mode: "create" | "update",
  json: unknown,
  typed = true,
): unknown {
  const data = isObject(json) ? json["data"] : undefined;
  if (!isObject(data))
    throw invalid([
      { pointer: "/data", detail: "The request body must be a JSON object with a member 'data', itself an object." },
    ]);
  const faults: Fault[] = [];
  checkType(data, definition, "/data/type", faults, typed);
  const attributes = parseAttributes(definition, mode, data["attributes"], faults);
  faults.push(...(definition.bodyFaults?.(attributes as never) ?? []));
  const relationships = parseRelationships(definition, mode, data["relationships"], faults);
  if (faults.length > 0) throw invalid(faults);
  return { attributes, relationships };
}

function checkType(
  data: JsonObject,
  { type, acceptedType }: ResourceDefinition,
  pointer: string,
  faults: Fault[],
  typed: boolean,
): void {
  const sent = data["type"];
  if (sent === type || (acceptedType !== undefined && sent === acceptedType)) return;
  if (!typed && (sent === undefined || sent === "")) return;
  faults.push({ pointer, detail: `Type must be '${type}'` });
}

function parseAttributes(
  definition: ResourceDefinition,
  mode: "create" | "update",
  sent: unknown,
  faults: Fault[],
): JsonObject {
  if (sent !== undefined && sent !== null && !isObject(sent)) {
    faults.push({ pointer: "/data/attributes", detail: "Attributes must be an object" });
    return {};
  }
  const source = foldAliases(sent ?? {}, "/data/attributes", faults);
  const input: JsonObject = {};
  for (const [name, attribute] of Object.entries(definition.attributes)) {
    const presence = attribute[mode];
    if (presence === "never") continue;
    const value = source[name];
    if (value === undefined) {
      if (presence === "required")
        faults.push({ pointer: `/data/attributes/${name}`, detail: `${human(name)} can't be blank` });
    } else {
      const parsed = parseValue(attribute, name, value, faults);
      if (parsed !== undefined) input[camel(name)] = parsed;
    }
  }
  return input;
}

function parseValue(attribute: AnyAttribute, name: string, value: unknown, faults: Fault[]): unknown {
  const result = attribute.schema.safeParse(value);
  if (result.success) return result.data;
  faults.push(
    ...result.error.issues
      .slice(0, issuesMax)
      .map((issue: z.core.$ZodIssue) => toFault(issue, ["data", "attributes", name], name)),
  );
  return undefined;
}

function parseRelationships(
  definition: ResourceDefinition,
  mode: "create" | "update",
  sent: unknown,
  faults: Fault[],
): JsonObject {
  const source = isObject(sent) ? sent : {};
  if (sent !== undefined && sent !== null && !isObject(sent)) {
    faults.push({ pointer: "/data/relationships", detail: "Relationships must be an object" });
  }
  const input: JsonObject = {};
  for (const [name, relationship] of Object.entries(definition.relationships)) {
    if (relationship[mode] === "never") continue;
    const value = source[name];
    const data = isObject(value) ? value["data"] : undefined;
    if (data === undefined) {
      if (value !== undefined && value !== null) faults.push(linkageFault(name, relationship));
      else if (relationship[mode] === "required")
        faults.push({ pointer: `/data/relationships/${name}`, detail: `${human(name)} can't be blank` });
      continue;
    }
    input[camel(name)] = relationship.many
      ? parseMany(name, relationship, data, faults)
      : parseOne(name, relationship, data, faults);
  }
  return input;
}

function parseOne(
  name: string,
  relationship: Relationship & { many: false },
  data: unknown,
  faults: Fault[],
): string | null | undefined {
  if (data === null) {
    if (relationship.nullable) return null;
    faults.push({ pointer: `/data/relationships/${name}/data`, detail: `${human(name)} can't be removed` });
    return undefined;
  }
  if (isIdentifier(data, relationship.types)) return data.id;
  faults.push(linkageFault(name, relationship));
  return undefined;
}

function parseMany(name: string, relationship: ToMany, data: unknown, faults: Fault[]): unknown[] {
  const pointer = `/data/relationships/${name}/data`;
  if (!Array.isArray(data)) {
    faults.push(linkageFault(name, relationship));
    return [];
  }
  if (relationship.item === undefined) {
    const items = identifiers(data, relationship.types, pointer, faults, relationship.metaSent);
    return relationship.metaSent === undefined ? items.map((item) => item.id) : items;
  }
  if (data.length > linkageMax) {
    faults.push(tooMany(pointer, data.length));
    return [];
  }
  const result = relationship.item.array().safeParse(data);
  if (result.success) return result.data;
  const base = ["data", "relationships", name, "data"];
  faults.push(...result.error.issues.slice(0, issuesMax).map((issue) => toFault(issue, base, name)));
  return [];
}

function tooMany(pointer: string, length: number): Fault {
  return { pointer, detail: `At most ${linkageMax} can be named in one request; this names ${length}` };
}

function linkageFault(name: string, relationship: Relationship): Fault {
  const shape = `{"type": "${relationship.types.join('" or "')}", "id": …}`;
  return {
    pointer: `/data/relationships/${name}/data`,
    detail: `${human(name)} must be given as ${relationship.many ? `an array of ${shape}` : shape} in a member 'data'`,
  };
}

function parseLinkage({ linkage: types, meta }: LinkageBody, json: unknown): readonly ResourceIdentifier[] {
  const data = isObject(json) ? json["data"] : undefined;
  if (!Array.isArray(data))
    throw invalid([
      {
        pointer: "/data",
        detail: "The request body must have a member 'data' that is an array of resource identifiers",
      },
    ]);
  const faults: Fault[] = [];
  const items = identifiers(data, types, "/data", faults, meta);
  if (faults.length > 0) throw invalid(faults);
  return items;
}

function identifiers(
  data: readonly unknown[],
  types: readonly string[],
  pointer: string,
  faults: Fault[],
  meta?: z.ZodType,
): ResourceIdentifier[] {
  if (data.length > linkageMax) {
    faults.push(tooMany(pointer, data.length));
    return [];
  }
  const found: ResourceIdentifier[] = [];
  const base = pointer.split("/").slice(1);
  data.forEach((item, position) => {
    if (isIdentifier(item, types))
      found.push({
        type: item.type,
        id: item.id,
        ...linkMeta(item, meta, [...base, String(position), "meta"], faults),
      });
    else
      faults.push({
        pointer: `${pointer}/${position}`,
        detail: `Each item must be {"type": "${types.join('" or "')}", "id": …}`,
      });
  });
  return found;
}

function linkMeta(
  item: ResourceIdentifier,
  schema: z.ZodType | undefined,
  at: string[],
  faults: Fault[],
): { meta?: unknown } {
  if (schema === undefined || item.meta === undefined || item.meta === null) return {};
  const result = schema.safeParse(item.meta);
  if (result.success) return { meta: result.data };
  faults.push(...result.error.issues.slice(0, issuesMax).map((issue) => toFault(issue, at, "meta")));
  return {};
}

function isIdentifier(value: unknown, types: readonly string[]): value is ResourceIdentifier {
  if (!isObject(value)) return false;
  const { type, id } = value;
  return (
    typeof type === "string" && types.includes(type) && typeof id === "string" && id !== "" && id.length <= idLengthMax
  );
}

function parseCustom(schema: z.ZodType, json: unknown): unknown {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw invalid(result.error.issues.slice(0, issuesMax).map((issue) => toFault(issue, [], "request-body")));
}

function toFault(issue: z.core.$ZodIssue, base: readonly PropertyKey[], name: string): Fault {
  const path = [...base, ...issue.path];
  const inner = issue.path.filter((part) => typeof part === "string").join(".");
  const subject = human(inner === "" ? name : base.length === 0 ? inner : `${name}.${inner}`);
  return {
    pointer: path.map((part) => `/${escapePointer(String(part))}`).join(""),
    detail: `${subject} ${predicate(issue)}`,
  };
}

const articles: Record<string, string> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  object: "an object",
  array: "an array",
  record: "an object",
};

function predicate(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "custom":
      return issue.message;
    case "invalid_type":
      return `must be ${articles[issue.expected] ?? issue.expected}`;
    case "invalid_value":
      return `must be one of: ${issue.values.map((value) => String(value)).join(", ")}`;
    case "too_big":
      return `has too many members (maximum is ${issue.maximum})`;
    default:
      return issue.message;
  }
}

const escapePointer = (part: string) => part.replaceAll("~", "~0").replaceAll("/", "~1");

/** At any depth; refuses both names with different values. */
function foldAliases(source: JsonObject, pointer: string, faults: Fault[]): JsonObject {
  const folded: JsonObject = { ...source };
  for (const [name, alias] of Object.entries(aliases)) {
    if (!(alias in source)) continue;
    if (name in source && JSON.stringify(source[name]) !== JSON.stringify(source[alias])) {
      faults.push({
        pointer: `${pointer}/${alias}`,
        detail: `${human(alias)} must be the same as ${name}: they are two names for one attribute`,
      });
    }
    folded[name] = source[name] ?? source[alias];
  }
  for (const [name, value] of Object.entries(folded)) {
    if (isObject(value)) folded[name] = foldAliases(value, `${pointer}/${name}`, faults);
  }
  return folded;
}

/** Runs before any other code sees the values. Throws `invalid`. */
function refuseUnstorable(json: unknown): void {
  const faults: Fault[] = [];
  walk(json, undefined, 0, faults);
  if (faults.length > 0) throw invalid(faults);
}

const unstorable = "contains a character that can't be stored (U+0000 or half of a surrogate pair)";
const faultsMax = 20;

interface JsonLocation {
  readonly parent: JsonLocation | undefined;
  readonly name: string | number;
}

const pointerOf = (location: JsonLocation | undefined): string =>
  location === undefined ? "" : `${pointerOf(location.parent)}/${escapePointer(String(location.name))}`;
const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

function walk(value: unknown, location: JsonLocation | undefined, depth: number, faults: Fault[]): void {
  if (faults.length >= faultsMax) return;
  if (typeof value === "string") {
    if (isStorable(value)) return;
    const pointer = pointerOf(location);
    faults.push({ pointer, detail: `The text at ${pointer} ${unstorable}` });
    return;
  }
  if (typeof value !== "object" || value === null) return;
  if (depth === nestingMax) {
    throw new AppError("invalid", [
      {
        pointer: pointerOf(location).slice(0, 200),
        detail: `The request body is nested more than ${nestingMax} levels deep`,
      },
    ]);
  }
  if (Array.isArray(value)) {
    for (const [name, item] of value.entries()) walk(item, { parent: location, name }, depth + 1, faults);
    return;
  }
  for (const [name, member] of Object.entries(value)) {
    if (!isStorable(name)) {
      const pointer = pointerOf(location);
      faults.push({ pointer, detail: `A name at ${pointer || "/"} ${unstorable}` });
    }
    walk(member, { parent: location, name }, depth + 1, faults);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
