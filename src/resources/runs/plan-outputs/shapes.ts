/** Reads from a provider schema which object keys it declares; all others are data, such as the keys of a map. Pure. */

/** Undefined: nothing is known, so every key may be data. */
export type SchemaShape =
  | { readonly members: ReadonlyMap<string, SchemaShape> }
  | { readonly each: SchemaShape }
  | { readonly items: readonly SchemaShape[] }
  | undefined;

type PlanSchemaObject = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is PlanSchemaObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const entriesOf = (value: unknown): [string, unknown][] => (isObject(value) ? Object.entries(value) : []);

export function shapeOfSchema(schema: unknown): SchemaShape {
  return isObject(schema) && isObject(schema["block"]) ? shapeOfBlock(schema["block"]) : undefined;
}

function shapeOfBlock(block: PlanSchemaObject): SchemaShape {
  return {
    members: new Map([
      ...entriesOf(block["attributes"]).map(([name, attribute]) => [name, shapeOfAttribute(attribute)] as const),
      ...entriesOf(block["block_types"]).map(([name, nested]) => [name, shapeOfNested(nested)] as const),
    ]),
  };
}

function shapeOfAttribute(attribute: unknown): SchemaShape {
  if (!isObject(attribute)) return undefined;
  const nested = attribute["nested_type"];
  return isObject(nested) ? nestedBy(nested, shapeOfBlock(nested)) : shapeOfType(attribute["type"]);
}

const shapeOfNested = (nested: unknown): SchemaShape =>
  isObject(nested) && isObject(nested["block"]) ? nestedBy(nested, shapeOfBlock(nested["block"])) : undefined;

const nestedBy = ({ nesting_mode: mode }: PlanSchemaObject, shape: SchemaShape): SchemaShape =>
  mode === "single" || mode === "group" ? shape : { each: shape };

/** Types are `"string"`, `["map", "string"]`, `["object", { "name": "string" }]`. */
function shapeOfType(type: unknown): SchemaShape {
  if (!Array.isArray(type)) return undefined;
  const [kind, of] = type as readonly unknown[];
  if (kind === "object") return { members: new Map(entriesOf(of).map(([name, each]) => [name, shapeOfType(each)])) };
  if (kind === "tuple") return { items: Array.isArray(of) ? of.map(shapeOfType) : [] };
  return { each: shapeOfType(of) };
}

export const isDeclared = (shape: SchemaShape, name: string): boolean =>
  shape !== undefined && "members" in shape && shape.members.has(name);

export function shapeAt(shape: SchemaShape, key: string | number): SchemaShape {
  if (shape === undefined) return undefined;
  if ("members" in shape) return shape.members.get(String(key));
  return "each" in shape ? shape.each : shape.items[Number(key)];
}
